// Rings of io_uring, and the rings that wait for reuse between one owner and the next.
//
// The kernel takes a ring down some time after it was closed, and interrupts the ring's thread then: a call
// that waits, such as recv() with a time limit, would end early in a program that has nothing to do with
// stria. So a ring stays until the process ends, for its next owner in the same thread.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"

#ifdef STRIA_HAS_URING

#include <liburing.h>
#include <unistd.h>

namespace stria::tcp {

class Ring {
 public:
  enum class Kind : std::uint8_t {
    deferred,    ///< the kernel completes requests only when the thread that made the ring asks for that
    cooperative  ///< the kernel completes requests whenever the thread enters or leaves it
  };
  /// A ring that waits for reuse, or a new one for up to `entries` requests at a time. Errors: unsupported,
  /// this kernel has no such ring, forbids it to this process, or the user may lock no more memory; io_error,
  /// any other, such as no descriptor left.
  static Result<std::unique_ptr<Ring>> take(Kind kind, unsigned entries);
  /// Keeps a ring for the next take() of its kind in its thread. No request of the ring may be in flight.
  static void give_back(std::unique_ptr<Ring> ring);
  /// Whether the calling thread made the ring. False in the child of a fork(), too.
  bool is_mine() const noexcept { return owner_ == ::gettid(); }

  io_uring kernel{};

 private:
  explicit Ring(Kind kind) noexcept : kind_(kind) {}
  const Kind kind_;
  const pid_t owner_ = ::gettid();
};

}  // namespace stria::tcp

#else

namespace stria::tcp {
class Ring {};
}  // namespace stria::tcp

#endif
