// Streamer: the sender's half of the packed pipeline, in which the sender packs fragment k+1 while the
// receiver unpacks fragment k. It needs nothing but eager_send, so it is the scheme that always works, on
// every provider and for every pair of layouts. The receiver's half is Requests and Fragments.
//
//   sender   ── RTS{length, op} ──►  receiver: match
//            ◄── RTR{ops, range, fragment size} ──
//            ── FRAG 0 ──►  ── FRAG 1 ──►  …        both complete with the last fragment (help.cpp: or
//            before)
//
// Each fragment says where in the message its bytes belong, and may overtake others (fragments.hpp). Where
// the link can, fragments are not packed but sent out of the memory itself (zero-copy sends), and are placed
// into the memory of the receive: then the send ends when the provider has given its memory back (ends.hpp).
//
// A request with the receiver's key goes on to Putter, one for a piece to PieceSender.
#pragma once

#include "rndv/ends.hpp"
#include "rndv/operations.hpp"
#include "rndv/options.hpp"
#include "rndv/owner.hpp"
#include "rndv/piece_sender.hpp"
#include "rndv/putter.hpp"

namespace stria::rndv {

/// Threads: the worker's lock.
class Streamer {
 public:
  Streamer(const Options& options, Operations& operations, KeyPool& keys, Ends& ends, PieceSender& pieces,
           const Owner& owner, Putter& putter) noexcept
      : options_(options),
        operations_(operations),
        keys_(keys),
        ends_(ends),
        pieces_(pieces),
        owner_(owner),
        putter_(putter) {}
  Streamer(const Streamer&) = delete;
  Streamer& operator=(const Streamer&) = delete;

  /// The receiver asks for fragments, or for a piece of the message on the rail that the request came by
  /// (null: the main link). False: the request does not fit the send that it names, or is malformed.
  [[nodiscard]] bool on_rtr(const transport::LinkRef& link, const transport::Packet& packet,
                            const transport::LinkRef* rail) noexcept;
  /// Sends the next fragments, or puts the next piece. True when something moved.
  bool step(SendOp& op) noexcept;

 private:
  [[gnu::noinline]] bool on_piece_request(SendOp& op, const transport::LinkRef& via,
                                          const wire::RtrBody& rtr) noexcept;
  bool refuse_request(SendOp& op, const wire::RtrBody& rtr, Status why) noexcept;
  void zcopy_ended(SendOp& op, Status status) noexcept;
  static void on_zcopy_done(stria_completion_t* completion, stria_status_t status) noexcept;

  const Options& options_;
  Operations& operations_;
  KeyPool& keys_;
  Ends& ends_;
  PieceSender& pieces_;
  const Owner& owner_;
  Putter& putter_;
};

}  // namespace stria::rndv
