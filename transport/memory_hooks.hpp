// Passes the application's reports of memory that goes away on to watchers. A program that hooks munmap and
// the like for itself (MPI libraries do) hands its hooks over; providers that keep registrations watch.
//
//   application   memory_released() ── for each watcher: calls + 1 ── its function ── calls - 1
//   provider      unwatch_memory(): function = none, then waits for calls == 0
//
// memory_released() is called by a thread that may hold an allocator's lock: so it locks and allocates
// nothing. The hooks are installed with the first watcher and removed with the last, so that a process that
// keeps no registrations is not slowed down by them.
#pragma once

#include "base/result.hpp"
#include "stria/provider.h"

namespace stria::transport {

/// Sets the application's hooks; null removes them. Errors: invalid (a field is missing, or there are
/// watchers, which rely on the present hooks).
Result<void> set_memory_hooks(const stria_memory_hooks_t* hooks);
/// To be called by the hooks when memory is about to go away: calls the function of each watcher. Any thread.
void memory_released(const void* memory, std::uint64_t bytes) noexcept;

/// Adds a watcher: released(self, memory, bytes) will be called for memory that goes away. False: there are
/// no hooks, they cannot be installed, or there are too many watchers.
bool watch_memory(stria_memory_released_t released, void* self) noexcept;
/// Removes a watcher. No call of its function is under way on return.
void unwatch_memory(stria_memory_released_t released, void* self) noexcept;

}  // namespace stria::transport
