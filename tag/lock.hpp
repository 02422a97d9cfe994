// The one lock of a worker that threads share. Recursive, because a completion callback may start operations.
// A worker opened for one thread pays a predictable branch.
//
// What threads do under it takes 20 to 100 ns, less than it takes to move the worker's memory from core to
// core; so a lock that changed hands with every call would make all of them slow, and each look at it costs
// the thread that has it a line. What is best depends on what the other thread does:
//   It works, with one operation after the other (turns_ moves). Who comes then stays away for some
//   microseconds, while the worker stays in that thread's cache, and then asks.
//   It only looks whether something came, or is in one operation. Who comes asks at once, is let in next,
//   and whoever looks stays out of its way.
// Nobody is put to sleep by the kernel and woken again for a lock that is free in 50 ns, and nobody who asks
// stays outside.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/cache_line.hpp"
#include "base/instructions.hpp"

namespace stria::tag {

class WorkerLock {
 public:
  void enable(bool shared) noexcept { shared_ = shared; }
  bool shared() const noexcept { return shared_; }
  /// Whether the calling thread has the lock, which is shared.
  bool is_mine() const noexcept { return owner_.load(std::memory_order_relaxed) == self(); }

  /// For an operation: work that others who come may stay away from.
  void lock() noexcept {
    if (shared_ && !enter()) ++depth_;
  }
  /// For a look that is repeated until something comes: others need not wait for the last of them.
  void lock_to_look() noexcept {
    if (shared_ && !enter_to_look()) ++depth_;
  }
  /// The same of a lock that is shared, for a scope: it ends with leave(), where these are true. False: it is
  /// inside another one of this thread.
  bool enter() noexcept {
    if (!enter_to_look()) return false;
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
  }
  bool enter_to_look() noexcept {
    const void* me = self();
    if (owner_.load(std::memory_order_relaxed) == me) return false;
    if (asker_.load(std::memory_order_relaxed) != nullptr || !take(me)) [[unlikely]]
      wait(me);
    return true;
  }
  void leave() noexcept {
    owner_.store(nullptr, std::memory_order_release);
  }  // pairs with take() of the next
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
    return try_later(me);
  }
  void unlock() noexcept {
    if (!shared_) return;
    if (depth_ > 0) {
      --depth_;
      return;
    }
    leave();
  }

 private:
  // What names the thread; only its own thread can store it, so a relaxed look suffices to know oneself.
  static const void* self() noexcept { return this_thread(); }
  bool take(const void* me) noexcept {
    const void* nobody = nullptr;
    return owner_.load(std::memory_order_relaxed) == nullptr &&
           owner_.compare_exchange_strong(nobody, me, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void wait(const void* me) noexcept;
  bool try_later(const void* me) noexcept;
  /// Whether a thread works there, seen over so many pauses.
  bool is_worked_in(std::uint32_t pauses) const noexcept;

  // In a line of their own: who waits looks at it, and the worker's memory stays with its owner.
  alignas(kCacheLine) std::atomic<const void*> owner_{nullptr};
  std::atomic<const void*> asker_{nullptr};  // is let in next
  std::atomic<std::uint32_t> turns_{0};      // written by the owner
  alignas(kCacheLine) std::uint32_t depth_ = 0;
  bool shared_ = false;
};

}  // namespace stria::tag
