// A bell: it tells without a system call that something has come, through memory that the kernel shares with
// the process (io_uring). A look at it is two loads, where one at the sockets is a system call.
//
//   at rest --arm()--> armed, silent --the descriptor is readable--> armed, ringing --answer()--> at rest
//
// Any one thread at a time may ask whether it is silent. The thread that opened it arms and answers it; for
// another one arm() answers false, and a bell that rings goes on ringing.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "transport/tcp/ring.hpp"

namespace stria::tcp {

class Bell {
 public:
  /// `descriptor` has to outlive it. Errors: unsupported: this kernel has no such memory, forbids it to
  /// this process, or its user may lock no more; io_error: no descriptor is left.
  static Result<std::unique_ptr<Bell>> open(int descriptor);
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  /// It rings when the descriptor is readable, at once if it is already. False: it does not.
  bool arm() noexcept;
  /// It is armed, and does not ring.
  bool is_silent() const noexcept {
    return is_armed_ && __atomic_load_n(tail_, __ATOMIC_ACQUIRE) == *head_ &&
           (__atomic_load_n(flags_, __ATOMIC_RELAXED) & kHasNews) == 0;
  }
  void answer() noexcept;

 private:
  static constexpr unsigned kHasNews = 4;  // IORING_SQ_TASKRUN: a completion waits for the next call
  static constexpr unsigned kPoll = 1, kRemoval = 2;  // names of what arm() and disarm() ask for
  Bell(int descriptor, std::unique_ptr<Ring> ring);
  bool disarm() noexcept;

  std::unique_ptr<Ring> ring_;
  const int descriptor_;
  bool is_armed_ = false;
  const unsigned* tail_ = nullptr;  // of the queue of completions: how many there were
  const unsigned* head_ = nullptr;  // how many of them were taken
  const unsigned* flags_ = nullptr;
};

}  // namespace stria::tcp
