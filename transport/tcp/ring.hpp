// Rings of io_uring, and the shelf on which a ring stays between one owner and the next.
//
// The kernel takes a ring down some time after it was closed, and interrupts the ring's thread then: a call
// that waits, such as recv() with a time limit, would end early in a program that has nothing to do with it.
// So a ring stays until the process ends, for the next that needs one in the same thread.
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
    deferred,    ///< what completes waits for the next call of the thread that made the ring
    cooperative  ///< what completes goes on when the thread enters or leaves the kernel for whatever reason
  };
  /// For up to `entries` requests at a time. Errors: unsupported: this kernel has no such ring, forbids it to
  /// this process, or its user may lock no more memory; io_error: no descriptor is left.
  static Result<std::unique_ptr<Ring>> take(Kind kind, unsigned entries);
  /// No request of it is under way. Keeps it for the next take() of the same kind in its thread.
  static void give_back(std::unique_ptr<Ring> ring);
  /// The calling thread made it. False in the child of a fork(), too.
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
