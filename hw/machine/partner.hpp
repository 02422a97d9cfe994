// A second thread on another core, which does what the measuring thread asks it to: it reads memory, so that
// its cache has the lines, writes memory, or copies at the same time.
//
// The partner spins while it waits. Each wait of either thread gives its turn away now and then, so that both
// make progress also where they share a core.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/cache_line.hpp"
#include "base/instructions.hpp"

namespace stria::hw {

/// Spins until `is_there()` is true.
template <class Condition>
void spin_until(Condition&& is_there) noexcept {
  for (unsigned polls = 1; !is_there(); ++polls)
    if (polls % 1024 != 0)
      cpu_relax();
    else
      ::sched_yield();
}

/// Binds the calling thread to one processor. False: the kernel does not allow it.
bool bind_to(unsigned processor) noexcept;

class Partner {
 public:
  /// Starts the thread on this processor. Throws std::system_error where no thread can be had.
  explicit Partner(unsigned processor);
  /// Ends the thread.
  ~Partner();
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;

  /// False: the thread could not be bound to its processor, so nothing is to be measured with it.
  bool is_bound() const noexcept { return bound_; }
  /// Lets the partner call `job()`, and returns at once. `job` is the caller's, unchanged until wait()
  /// returns.
  template <class Job>
  void start(Job& job) noexcept {
    job_ = [](void* self) { (*static_cast<Job*>(self))(); };
    self_ = const_cast<void*>(static_cast<const void*>(&job));  // a job may be const: it is called as such
    posted_.store(posted_.load(std::memory_order_relaxed) + 1,
                  std::memory_order_release);  // pairs with serve()
  }
  /// Waits until the job that was started last is done.
  void wait() noexcept {
    const std::uint32_t wanted = posted_.load(std::memory_order_relaxed);
    spin_until([&] { return done_.load(std::memory_order_acquire) == wanted; });  // pairs with serve()
  }
  /// Lets the partner call `job()`, and waits until it is done.
  template <class Job>
  void run(Job&& job) noexcept {
    start(job);
    wait();
  }

 private:
  void serve(unsigned processor) noexcept;

  void (*job_)(void*) = nullptr;  // null, and posted: the end
  void* self_ = nullptr;
  bool bound_ = false;
  alignas(kCacheLine) std::atomic<std::uint32_t> posted_{0};  // the measuring thread's
  alignas(kCacheLine) std::atomic<std::uint32_t> done_{0};    // the partner's
  std::thread thread_;
};

}  // namespace stria::hw
