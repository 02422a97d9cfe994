// Streamer: the sender's half of the pipeline, in which the sender packs fragment k+1 while the receiver
// unpacks fragment k. The pipeline needs only eager_send of a provider, so it is the scheme that works on
// every provider and for every pair of layouts. The receiver's half is Requests and Fragments.
//
//   sender   ── RTS{length, op} ──►  receiver: match
//            ◄── RTR{ops, range, fragment size} ──
//            ── FRAG 0 ──►  ── FRAG 1 ──►  …        both sides complete with the last fragment, or earlier
//            when the receiver helps (help.cpp)
//
// Each fragment carries its place in the message, so fragments may overtake each other (fragments.hpp). On a
// link with zero-copy sends, fragments are not packed: the sender's provider reads them from the user's send
// buffer, and the receiver's provider places them in the user's receive buffer. The send then ends when its
// provider no longer needs the send buffer (finisher.hpp).
//
// Streamer passes an RTR that carries the receiver's key to Putter, and an RTR for one piece of a divided
// message to PieceSender.
#pragma once

#include "rndv/common.hpp"
#include "rndv/piece_sender.hpp"
#include "rndv/putter.hpp"

namespace stria::rndv {

/// Threads: the worker's lock.
class Streamer {
 public:
  Streamer(const Common& common, KeyPool& keys, PieceSender& pieces, Putter& putter) noexcept
      : options_(common.options),
        operations_(common.operations),
        finisher_(common.finisher),
        owner_(common.owner),
        keys_(keys),
        pieces_(pieces),
        putter_(putter) {}
  Streamer(const Streamer&) = delete;
  Streamer& operator=(const Streamer&) = delete;

  /// Handles an RTR: the receiver asks for fragments, or for a piece of the message on `rail`, by which the
  /// RTR came (null: the main link). False: the RTR is malformed, or asks for bytes that its send does not
  /// have.
  [[nodiscard]] bool on_rtr(const transport::LinkRef& link, const transport::Packet& packet,
                            const transport::LinkRef* rail) noexcept;
  /// Sends the next fragments of the send, or puts its next piece. True when bytes were sent or the send
  /// ended.
  bool step(SendOp& op) noexcept;

 private:
  [[gnu::noinline]] bool on_piece_request(SendOp& op, const transport::LinkRef& via,
                                          const wire::RtrBody& rtr) noexcept;
  bool refuse_request(SendOp& op, const wire::RtrBody& rtr, Status why) noexcept;
  void zcopy_ended(SendOp& op, Status status) noexcept;
  static void on_zcopy_done(stria_completion_t* completion, stria_status_t status) noexcept;

  const Options& options_;
  Operations& operations_;
  Finisher& finisher_;
  const Owner& owner_;
  KeyPool& keys_;
  PieceSender& pieces_;
  Putter& putter_;
};

}  // namespace stria::rndv
