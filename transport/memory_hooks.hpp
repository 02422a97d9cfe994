// Memory that goes away, as the application tells it: a program that hooks munmap and its like for itself
// (MPI libraries do) hands its hooks over, and providers that keep registrations are told by them.
//
//   application   released() ── for each watcher: calls + 1 ── its function ── calls - 1
//   provider      unwatch: function = none, then waits for calls == 0
//
// released() is called by a thread that may hold an allocator's lock: it takes none and allocates nothing.
// The hooks are installed with the first watcher and removed with the last, so that a process that keeps no
// registrations is not slowed down by them.
#pragma once

#include "base/result.hpp"
#include "stria/provider.h"

namespace stria::transport {

/// Null: none any more. errors  invalid: a field is missing, or watchers rely on hooks now.
Result<void> set_memory_hooks(const stria_memory_hooks_t* hooks);
/// The memory goes away now. Any thread.
void memory_released(const void* memory, std::uint64_t bytes) noexcept;

/// False: there are no hooks, they refuse, or there are too many watchers.
bool watch_memory(stria_memory_released_t released, void* self) noexcept;
/// No call is under way on return.
void unwatch_memory(stria_memory_released_t released, void* self) noexcept;

}  // namespace stria::transport
