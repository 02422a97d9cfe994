// Tells without a system call whether something has come for a descriptor, through memory that the kernel
// shares with the process (io_uring). Asking takes a few loads, where asking the sockets takes a system call.
//
//   at rest --arm()--> armed, quiet --the descriptor is readable--> armed, notified --clear()--> at rest
//
// One thread at a time, any, may ask is_quiet(). Only the thread that opened the wakeup arms and clears it:
// for another thread arm() answers false, and clear() does nothing.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "transport/tcp/ring.hpp"

namespace stria::tcp {

class Wakeup {
 public:
  /// Opens a wakeup for `descriptor`, which has to outlive it. Errors: those of Ring::take().
  static Result<std::unique_ptr<Wakeup>> open(int descriptor);
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  /// Arms the wakeup: from now on is_quiet() is false once the descriptor is readable, at once if it is
  /// already. False: the wakeup cannot be armed.
  bool arm() noexcept;
  /// Whether the wakeup is armed, and nothing has come since.
  bool is_quiet() const noexcept {
    return is_armed_ && __atomic_load_n(tail_, __ATOMIC_ACQUIRE) == *head_ &&
           (__atomic_load_n(flags_, __ATOMIC_RELAXED) & kHasNews) == 0;
  }
  /// Puts the wakeup at rest, if something has come.
  void clear() noexcept;

 private:
  static constexpr unsigned kHasNews = 4;  // IORING_SQ_TASKRUN: a completion waits for a call that takes it
  static constexpr unsigned kPoll = 1, kRemoval = 2;  // user_data of the requests of arm() and disarm()
  Wakeup(int descriptor, std::unique_ptr<Ring> ring);
  bool disarm() noexcept;

  std::unique_ptr<Ring> ring_;
  const int descriptor_;
  bool is_armed_ = false;
  const unsigned* tail_ = nullptr;   // how many completions there were
  const unsigned* head_ = nullptr;   // how many completions were taken
  const unsigned* flags_ = nullptr;  // of the queue of requests: kHasNews
};

}  // namespace stria::tcp
