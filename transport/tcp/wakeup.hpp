// Whether something has come for a descriptor, told without a system call, through memory that the kernel
// shares with the process (io_uring). Asking takes two loads, where asking the sockets takes a system call.
//
//   at rest --arm()--> armed, quiet --the descriptor is readable--> armed, notified --clear()--> at rest
//
// Any one thread at a time may ask whether it is quiet. The thread that opened it arms and clears it; for
// another one arm() answers false, and clear() does nothing.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "transport/tcp/ring.hpp"

namespace stria::tcp {

class Wakeup {
 public:
  /// `descriptor` has to outlive it. Errors: unsupported: this kernel has no such memory, forbids it to
  /// this process, or its user may lock no more; io_error: no descriptor is left.
  static Result<std::unique_ptr<Wakeup>> open(int descriptor);
  ~Wakeup();
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  /// From now on is_quiet() is false once the descriptor is readable, at once if it is already. False: it
  /// cannot be armed.
  bool arm() noexcept;
  /// It is armed, and nothing has come since.
  bool is_quiet() const noexcept {
    return is_armed_ && __atomic_load_n(tail_, __ATOMIC_ACQUIRE) == *head_ &&
           (__atomic_load_n(flags_, __ATOMIC_RELAXED) & kHasNews) == 0;
  }
  /// Ends the state that arm() began, if something has come.
  void clear() noexcept;

 private:
  static constexpr unsigned kHasNews = 4;  // IORING_SQ_TASKRUN: a completion waits for the next call
  static constexpr unsigned kPoll = 1, kRemoval = 2;  // names of what arm() and disarm() ask for
  Wakeup(int descriptor, std::unique_ptr<Ring> ring);
  bool disarm() noexcept;

  std::unique_ptr<Ring> ring_;
  const int descriptor_;
  bool is_armed_ = false;
  const unsigned* tail_ = nullptr;  // of the queue of completions: how many there were
  const unsigned* head_ = nullptr;  // how many of them were taken
  const unsigned* flags_ = nullptr;
};

}  // namespace stria::tcp
