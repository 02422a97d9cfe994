// The one lock of a worker that threads share. Recursive, because a completion callback may start operations.
// A worker opened for one thread pays a predictable branch.
//
// An operation under the lock is shorter than the time in which the worker's memory moves to another core. So
// a lock that changed hands with every call would make all threads slow, and each look at the lock takes a
// line from its owner (docs/notebook/kernels.md has the figures). What a thread does that finds the lock
// taken depends on the owner:
//   The owner works: it does one operation after the other (turns_ changes). The thread stays away for some
//   microseconds, so that the worker's memory stays in the owner's cache, and then asks for the lock.
//   The owner polls, or does a single operation. The thread asks for the lock at once.
// The thread that asks is let in next. Threads that poll stay away meanwhile, and so do other threads that
// wait, unless the asker does not come for long. A thread that waits spins, then yields, then naps. No owner
// ever has to wake another thread, since that would take longer than the operation.
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

  /// Locks for an operation. Threads that see one operation after the other stay away for a while.
  void lock() noexcept {
    if (shared_ && !enter()) ++depth_;
  }
  /// Locks for a look that is repeated until something comes. It does not count as an operation, so other
  /// threads ask for the lock at once.
  void lock_to_look() noexcept {
    if (shared_ && !enter_to_look()) ++depth_;
  }
  /// Locks a lock that is shared(), for an operation. True: the caller ends it by leave(). False: the calling
  /// thread has the lock already, and there is nothing to end.
  bool enter() noexcept {
    if (!enter_to_look()) return false;
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
  }
  /// Locks a lock that is shared(), for a look; answers as enter() does.
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
  /// Locks for a round of progress. False: another thread has the lock and makes progress itself, so this one
  /// has stayed away for a while, and is to do something else.
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
  // Names the calling thread. Only this thread stores the name, so a relaxed load of owner_ suffices to find
  // out whether this thread has the lock.
  static const void* self() noexcept { return this_thread(); }
  bool take(const void* me) noexcept {
    const void* nobody = nullptr;
    return owner_.load(std::memory_order_relaxed) == nullptr &&
           owner_.compare_exchange_strong(nobody, me, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void wait(const void* me) noexcept;
  bool try_later(const void* me) noexcept;
  /// Whether the owner begins more than one operation within `pauses` pauses.
  bool is_worked_in(std::uint32_t pauses) const noexcept;

  // In a line of their own: threads that wait read this line, and the worker's memory stays in the owner's
  // cache.
  alignas(kCacheLine) std::atomic<const void*> owner_{nullptr};
  std::atomic<const void*> asker_{nullptr};  // the thread that is let in next
  std::atomic<std::uint32_t> turns_{0};      // operations; written by the owner
  alignas(kCacheLine) std::uint32_t depth_ = 0;
  bool shared_ = false;
};

}  // namespace stria::tag
