// The one lock of a worker that threads share. Recursive, because a completion callback may start operations.
// A worker opened for one thread pays a predictable branch.
//
// What threads do under it takes 20 to 100 ns, less than it takes to move the worker's memory from core to
// core; so a lock that changed hands with every call would make all of them slow. Whoever finds it taken
// stays away for a microsecond and more, while the thread that has the worker in its cache goes on at full
// speed, and nobody is put to sleep by the kernel and woken again for a lock that is free in 50 ns. To stay
// away for ever is not in it: after some looks a thread asks, and others then let it go first.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/cache_line.hpp"

namespace stria::tag {

class WorkerLock {
 public:
  void enable(bool shared) noexcept { shared_ = shared; }
  bool shared() const noexcept { return shared_; }

  void lock() noexcept {
    if (!shared_) return;
    const void* me = self();
    if (owner_.load(std::memory_order_relaxed) == me) {
      ++depth_;
      return;
    }
    if (asker_.load(std::memory_order_relaxed) != nullptr || !take(me)) [[unlikely]]
      wait(me);
  }
  /// For progress: another thread that is in there already does the work, and is better left alone for a
  /// while.
  bool try_lock() noexcept {
    if (!shared_) return true;
    const void* me = self();
    if (owner_.load(std::memory_order_relaxed) == me) {
      ++depth_;
      return true;
    }
    if (asker_.load(std::memory_order_relaxed) == nullptr && take(me)) [[likely]]
      return true;
    stay_away(kFewPauses);
    return false;
  }
  void unlock() noexcept {
    if (!shared_) return;
    if (depth_ > 0) {
      --depth_;
      return;
    }
    owner_.store(nullptr, std::memory_order_release);  // pairs with take() of the next one
  }

 private:
  static constexpr std::uint32_t kFewPauses = 32;  // about 1 us

  // The address of a thread-local names the thread; only its own thread can store it, so a relaxed look
  // suffices to know oneself.
  static const void* self() noexcept {
    static thread_local char anchor;
    return &anchor;
  }
  bool take(const void* me) noexcept {
    const void* nobody = nullptr;
    return owner_.load(std::memory_order_relaxed) == nullptr &&
           owner_.compare_exchange_strong(nobody, me, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void wait(const void* me) noexcept;
  static void stay_away(std::uint32_t pauses) noexcept;

  // Both in a line of their own: who waits looks at it, and the worker's memory stays with its owner.
  alignas(kCacheLine) std::atomic<const void*> owner_{nullptr};
  std::atomic<const void*> asker_{nullptr};  // who waited long; others take the lock after it
  alignas(kCacheLine) std::uint32_t depth_ = 0;
  bool shared_ = false;
};

}  // namespace stria::tag
