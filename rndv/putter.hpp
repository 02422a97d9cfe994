// Putter: the sender's half of the scheme mapped by both (share.cpp has the drawing). It stores its part of
// the message through the receiver's key, by puts, a piece at a time, and tells the receiver of each piece by
// a fragment without a payload.
#pragma once

#include "rndv/ends.hpp"
#include "rndv/operations.hpp"
#include "rndv/owner.hpp"

namespace stria::rndv {

/// Threads: called with the worker's lock held.
class Putter {
 public:
  Putter(Operations& operations, Ends& ends, Owner& owner) noexcept
      : operations_(operations), ends_(ends), owner_(owner) {}
  Putter(const Putter&) = delete;
  Putter& operator=(const Putter&) = delete;

  /// Puts the next piece, or tells the receiver of the piece that was put last. True when something moved.
  bool step(SendOp& op) noexcept;

 private:
  static Status put_piece(SendOp& op) noexcept;
  bool notify_of_piece(SendOp& op) noexcept;
  void was_put(SendOp& op, Status status) noexcept;
  static void on_put_done(stria_completion_t* completion, stria_status_t status) noexcept;

  Operations& operations_;
  Ends& ends_;
  Owner& owner_;
};

}  // namespace stria::rndv
