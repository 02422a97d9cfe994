// How operations end. An operation ends when all its bytes have moved, when its peer says so (FIN), when it
// or its link fails, or when the worker closes. Then it gives back what it has, its names, keys and places in
// lists, and the owner hears of it, last of all: the owner may free or reuse the operation, and start others.
//
// Memory of operations that a provider reads or writes on its own: it reads that of zero-copy sends until
// their completions, and writes what it places until it delivers that, or its link dies. An operation that is
// over before, because it has all, its peer refused or failed, or is given up, keeps its memory until then:
// it waits in the list of those that are held, and ends with the last completion or placed packet.
//
//   sender    FRAG 0 ──►  FRAG 1 ──► (all are sent)  ending ......... completion 0, completion 1: done
//   receiver  place FRAG 1 ....... (the peer failed)  held ................... FRAG 1 is placed: done
//
// Keys of rails that the receiver ends by packets hold a send, too (rail_ends.cpp).
#pragma once

#include <cstdint>

#include "rndv/operations.hpp"
#include "rndv/owner.hpp"
#include "rndv/piece_sender.hpp"
#include "rndv/pools.hpp"

namespace stria::rndv {

/// Threads: the worker's lock. Every function that ends an operation calls the owner's event last.
class Ends {
 public:
  Ends(Operations& operations, Pools& pools, PieceSender& pieces, const Owner& owner) noexcept
      : operations_(operations), pools_(pools), pieces_(pieces), owner_(owner) {}
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  /// The operation is over, with the outcome that it has, and no provider uses its memory. The peer is not
  /// told.
  void finish(Operation& op) noexcept;
  /// The operation is over, as soon as no provider uses its memory any more.
  void end(Operation& op) noexcept;
  void end_sending(SendOp& op, Status outcome) noexcept {
    op.outcome = outcome;
    end(op);
  }
  /// All bytes are there, or the receive failed. A sender that did not send all of them is told; that of a
  /// remote get is not known by name.
  void end_receiving(RecvOp& op) noexcept;
  /// Whether a provider reads or writes memory of the operation on its own, or a peer may by a key that it
  /// has said to end.
  static bool is_held(const Operation& op) noexcept;

  /// The packet that tells the sender of the receive's end.
  static transport::Header fin_of(const RecvOp& op) noexcept {
    return wire::make_header(wire::Kind::fin, op.peer_op,
                             static_cast<std::uint32_t>(static_cast<int>(op.outcome)));
  }
  /// Tells the sender, and finishes. False: there is no room, and the operation stays in the active list.
  bool step_fin(RecvOp& op) noexcept;
  /// A FIN for the peer's operation as soon as there is room. False: out of memory.
  bool owe_fin(const transport::LinkRef& link, wire::OpId peer_op, Status status) noexcept;
  /// The peer's FIN.
  void on_fin(const transport::LinkRef& link, const transport::Packet& packet) noexcept;

  /// Ends the keys that rails have of the send, which is keyed.
  void end_rail_keys(SendOp& op) noexcept;
  /// Ends one of them, and the send when its receiver has ended it and no other key is left.
  void end_rail_key(SendOp& op, RailKey& one) noexcept;

  /// Takes a waiting send back, without an event.
  void abandon(SendOp& op) noexcept;
  /// Ends every operation of the link, which is dead. Returns how many steps that took.
  std::uint64_t fail_link(const transport::LinkRef& link, Status why) noexcept;
  /// Ends all operations in lists, after the provider is closed.
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

/// Ends the key that the receive offered to its sender (share.cpp).
inline void end_offered_key(RecvOp& op) noexcept {
  static_cast<void>(op.link->invalidate(op.key.second(op.sink_key_bytes)));
  op.sink_key_bytes = 0;
}

}  // namespace stria::rndv
