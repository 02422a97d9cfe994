// Rings of io_uring, and the shelf on which a ring stays between one owner and the next.
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
    deferred,    ///< what completes waits until the thread that made the ring calls for it
    cooperative  ///< what completes goes on whenever the thread enters or leaves the kernel
  };
  /// A ring from the shelf, or a new one for up to `entries` requests at a time. Errors: unsupported, this
  /// kernel has no such ring, forbids it to this process, or the user may lock no more memory; io_error, any
  /// other, such as no descriptor left.
  static Result<std::unique_ptr<Ring>> take(Kind kind, unsigned entries);
  /// Puts a ring on the shelf, for the next take() of its kind in its thread. No request of the ring is under
  /// way.
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
