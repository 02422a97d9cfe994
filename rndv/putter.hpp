// Putter: the sender's half of the scheme both (share.cpp has the drawing): it puts its part of the message
// through the receiver's key, a piece at a time, and tells of each piece by a fragment without bytes.
#pragma once

#include "rndv/ends.hpp"
#include "rndv/operations.hpp"
#include "rndv/owner.hpp"

namespace stria::rndv {

/// Threads: the worker's lock.
class Putter {
 public:
  Putter(Operations& operations, Ends& ends, Owner& owner) noexcept
      : operations_(operations), ends_(ends), owner_(owner) {}
  Putter(const Putter&) = delete;
  Putter& operator=(const Putter&) = delete;

  /// Puts the next piece, or tells of the last one. True when something moved.
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
