// The one lock of a worker that threads share. Recursive, because a completion callback may start operations.
// A worker opened for one thread pays a predictable branch.
#pragma once

#include <atomic>
#include <mutex>

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
    mutex_.lock();
    owner_.store(me, std::memory_order_relaxed);
  }
  /// For progress: another thread that is in there already does the work.
  bool try_lock() noexcept {
    if (!shared_) return true;
    const void* me = self();
    if (owner_.load(std::memory_order_relaxed) == me) {
      ++depth_;
      return true;
    }
    if (!mutex_.try_lock()) return false;
    owner_.store(me, std::memory_order_relaxed);
    return true;
  }
  void unlock() noexcept {
    if (!shared_) return;
    if (depth_ > 0) {
      --depth_;
      return;
    }
    owner_.store(nullptr, std::memory_order_relaxed);
    mutex_.unlock();
  }

 private:
  // The address of a thread-local names the thread; only its own thread can store it, so a relaxed look
  // suffices.
  static const void* self() noexcept {
    static thread_local char anchor;
    return &anchor;
  }
  std::mutex mutex_;
  std::atomic<const void*> owner_{nullptr};
  unsigned depth_ = 0;
  bool shared_ = false;
};

}  // namespace stria::tag
