#include "transport/memory_hooks.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "base/format.hpp"

namespace stria::transport {
namespace {

struct Watcher {
  std::atomic<stria_memory_released_t> released{nullptr};  // null: this entry is free
  std::atomic<void*> self{nullptr};
  std::atomic<std::uint32_t> calls{0};  // of `released`, under way
};

// These need no destructors: memory may go away until the process has ended.
constinit std::array<Watcher, 16> watchers;  // one a provider that keeps registrations
constinit std::mutex setting;                // never locked by memory_released()
constinit stria_memory_hooks_t hooks_in_force{};

bool is_watched() noexcept {
  return std::ranges::any_of(watchers, [](const Watcher& one) { return one.released.load() != nullptr; });
}

/// The watcher with this function and self, or a free entry (released == nullptr). Null: there is none.
Watcher* find(stria_memory_released_t released, const void* self) noexcept {
  const auto at = std::ranges::find_if(watchers, [&](const Watcher& one) {
    return one.released.load() == released && (released == nullptr || one.self.load() == self);
  });
  return at == watchers.end() ? nullptr : &*at;
}

/// Frees the entry, and waits until no call of its function is under way.
void clear(Watcher& watcher) noexcept {
  watcher.released.store(nullptr);
  while (watcher.calls.load() != 0) ::sched_yield();
}

}  // namespace

Result<void> set_memory_hooks(const stria_memory_hooks_t* hooks) {
  if (hooks != nullptr &&
      (hooks->size != sizeof(*hooks) || hooks->install == nullptr || hooks->remove == nullptr))
    return Error{
        Status::invalid,
        fmt::format("stria_memory_hooks_t of {} bytes{}, this library knows {} and needs install and "
                    "remove",
                    hooks->size, hooks->size == sizeof(*hooks) ? " without a function" : "", sizeof(*hooks))};
  const std::lock_guard lock(setting);
  if (is_watched())
    return Error{Status::invalid, "memory hooks cannot be exchanged while open devices rely on them"};
  hooks_in_force = hooks == nullptr ? stria_memory_hooks_t{} : *hooks;
  return {};
}

void memory_released(const void* memory, std::uint64_t bytes) noexcept {
  for (Watcher& watcher : watchers) {
    if (watcher.released.load() == nullptr) continue;
    watcher.calls.fetch_add(1);
    // Load it again: a clear() that came before the call was counted does not wait for the call.
    if (const stria_memory_released_t released = watcher.released.load(); released != nullptr)
      released(watcher.self.load(), memory, bytes);
    watcher.calls.fetch_sub(1);
  }
}

bool watch_memory(stria_memory_released_t released, void* self) noexcept {
  const std::lock_guard lock(setting);
  if (hooks_in_force.install == nullptr) return false;
  Watcher* const free = find(nullptr, nullptr);
  if (free == nullptr) return false;
  const bool is_first = !is_watched();
  free->self.store(self);
  free->released.store(released);
  if (!is_first || hooks_in_force.install() == STRIA_OK) return true;
  clear(*free);
  return false;
}

void unwatch_memory(stria_memory_released_t released, void* self) noexcept {
  const std::lock_guard lock(setting);
  Watcher* const watcher = find(released, self);
  if (watcher == nullptr) return;
  clear(*watcher);
  if (!is_watched()) hooks_in_force.remove();
}

}  // namespace stria::transport
