// Finisher: ends operations. An operation ends when all its bytes have moved, when its peer says so (FIN),
// when it or its link fails, or when the worker closes. It then gives back its name, its keys and its place
// in a list, and last of all the owner's upcall is called: the owner may free or reuse the operation, and
// start others.
//
// A provider may read or write the memory of an operation on its own: it reads the memory of zero-copy sends
// until their completions, and it writes a payload that it places until it delivers that fragment, or its
// link dies. When an operation is over earlier, because all its bytes have moved, or its peer refused, failed
// or was given up, its memory may still be in use. Then the operation waits in the list of held operations,
// and ends with the last completion or placed fragment.
//
//   sender    FRAG 0 ──►  FRAG 1 ──► (all are sent)  ending ......... completion 0, completion 1: done
//   receiver  place FRAG 1 ....... (the peer failed)  held ................... FRAG 1 is placed: done
//
// A send is also held by the keys of rails that its receiver has yet to end by packets (end_rail_keys.cpp).
#pragma once

#include <cstdint>

#include "rndv/operations.hpp"
#include "rndv/owner.hpp"
#include "rndv/piece_sender.hpp"
#include "rndv/pools.hpp"

namespace stria::rndv {

/// Threads: called with the worker's lock held. Every function that ends an operation calls the owner's
/// upcall last.
class Finisher {
 public:
  Finisher(Operations& operations, Pools& pools, PieceSender& pieces, const Owner& owner) noexcept
      : operations_(operations), pools_(pools), pieces_(pieces), owner_(owner) {}
  Finisher(const Finisher&) = delete;
  Finisher& operator=(const Finisher&) = delete;

  /// Ends the operation with op.outcome. No provider uses its memory any more. The peer is not told.
  void finish(Operation& op) noexcept;
  /// Ends the operation as soon as no provider uses its memory any more.
  void end(Operation& op) noexcept;
  void end_sending(SendOp& op, Status outcome) noexcept {
    op.outcome = outcome;
    end(op);
  }
  /// Ends a receive that has all bytes, or failed, as soon as no provider uses its memory any more. Its
  /// sender is told by a FIN, except when it sent every byte itself and expects no FIN, when the link is dead
  /// or the sender refused (op.failed), or when the sender has no name here (op.peer_op is 0: a remote get).
  void end_receiving(RecvOp& op) noexcept;
  /// Whether a provider reads or writes memory of the operation on its own, or the peer may still do so
  /// through a key that the peer has promised to end.
  static bool is_held(const Operation& op) noexcept;

  /// The header of the FIN that tells the sender that the receive has ended with op.outcome.
  static transport::Header fin_of(const RecvOp& op) noexcept {
    return wire::make_header(wire::Kind::fin, op.peer_op,
                             static_cast<std::uint32_t>(static_cast<int>(op.outcome)));
  }
  /// Sends the FIN that is due, and finishes the receive. False: there is no room, and the operation stays in
  /// the active list.
  bool step_fin(RecvOp& op) noexcept;
  /// Sends a FIN for the peer's operation `peer_op` as soon as there is room. False: out of memory.
  bool queue_fin(const transport::LinkRef& link, wire::OpId peer_op, Status status) noexcept;
  /// Handles a FIN of the peer: ends the operation that it names.
  void on_fin(const transport::LinkRef& link, const transport::Packet& packet) noexcept;

  /// Ends all keys of rails to the memory of the send, which has some (op.has_rail_keys).
  void end_rail_keys(SendOp& op) noexcept;
  /// Ends one rail's key of the send; ends the send, too, when its receiver has ended it and no other rail's
  /// key is left.
  void end_rail_key(SendOp& op, RailKey& one) noexcept;

  /// Takes back a send that has begun, without an upcall: its name and its keys end.
  void abandon(SendOp& op) noexcept;
  /// The link is dead: ends every operation of it, or has it end when its memory is no longer in use. Returns
  /// the number of steps.
  std::uint64_t fail_link(const transport::LinkRef& link, Status why) noexcept;
  /// Ends all operations that are in a list. To be called only after the providers are closed.
  void end_all(Status why) noexcept;

 private:
  void end_key(SendOp& op) noexcept;
  void end_announced_key(SendOp& op) noexcept;
  void await_rail_keys(SendOp& op, std::uint8_t rails) noexcept;
  bool end_keys_by_rails(RecvOp& op) noexcept;
  void end_division(RecvOp& op) noexcept;

  Operations& operations_;
  Pools& pools_;
  PieceSender& pieces_;
  const Owner& owner_;
};

/// Ends the key that the receive offered to its sender (mapped_both.cpp).
inline void end_offered_key(RecvOp& op) noexcept {
  static_cast<void>(op.link->invalidate(op.key.sink_key(op.sink_key_bytes)));
  op.sink_key_bytes = 0;
}

}  // namespace stria::rndv
