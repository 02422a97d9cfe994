// Putter: the sender's half of the scheme mapped by both (mapped_both.cpp has the drawing). It stores its
// part of the message through the receiver's key, by puts, a piece at a time, and tells the receiver of each
// piece by a fragment without a payload.
#pragma once

#include "rndv/finisher.hpp"
#include "rndv/operations.hpp"
#include "rndv/owner.hpp"

namespace stria::rndv {

/// Threads: called with the worker's lock held.
class Putter {
 public:
  Putter(Operations& operations, Finisher& finisher, Owner& owner) noexcept
      : operations_(operations), finisher_(finisher), owner_(owner) {}
  Putter(const Putter&) = delete;
  Putter& operator=(const Putter&) = delete;

  /// Puts the next piece, or tells the receiver of the piece that was put last. True when something moved.
  bool step(SendOp& op) noexcept;

 private:
  static Status put_piece(SendOp& op) noexcept;
  bool notify_of_piece(SendOp& op) noexcept;
  void put_ended(SendOp& op, Status status) noexcept;
  static void on_put_done(stria_completion_t* completion, stria_status_t status) noexcept;

  Operations& operations_;
  Finisher& finisher_;
  Owner& owner_;
};

}  // namespace stria::rndv
