// How one long message comes by several links. The receiver divides the message (division.hpp) and asks for
// its pieces by the links to the sender; the sender answers each request (RTR) by the link that the request
// came by (piece_sender.hpp). Announcement (RTS) and FIN go by the main link, as for any message.
//
//   sender   ── RTS ──►  receiver: match
//            ◄── RTR{piece 0} ──   ◄── RTR{piece 1} ── (main link)   ◄── RTR{piece 2} ── (rail)   …
//            ── FRAG … ──►                                           ── FRAG … ──►
//                                  a piece is whole: its link is asked for the next one
//            complete ◄── FIN ──   all is there
//
// When a rail dies, the bytes that it did not bring are asked of the other links. When the main link dies,
// the peer counts as dead, because a message on that link may be lost.
#include <algorithm>

#include "base/log.hpp"
#include "rndv/requests.hpp"

namespace stria::rndv {

using transport::LinkRef;

bool Requests::divide(RecvOp& op) noexcept {
  if (op.length - op.moved < options_.rails_from || op.remote_half || !owner_.has_rails()) return false;
  if (owner_.rails(*op.link).empty() || !operations_.give_name(op)) return false;
  const std::uint32_t number = divisions_.acquire();
  if (number == 0) return false;
  op.division = number;
  op.divided = op.needs_fin = true;
  op.tail = op.length;
  op.reassembly = nullptr;
  continue_in_pieces(op);
  return true;
}

void Requests::continue_in_pieces(RecvOp& op) noexcept {
  op.helps = false;
  if (op.fragment_bytes == 0) op.fragment_bytes = options_.fragment_bytes;
  op.state = Operation::State::receiving;
  ask_for_pieces(op);
}

bool Requests::ask_for_pieces(RecvOp& op) noexcept {
  Division& division = divisions_[op.division];
  const auto rails = owner_.rails(*op.link);
  bool any = false, waits = false;
  for (unsigned depth = 1; depth <= Division::kDepth; ++depth) {
    for (std::size_t i = 0; i <= rails.size(); ++i) {
      const LinkRef& link = i == 0 ? *op.link : *rails[i - 1];
      if (!division.has_room(link, depth)) continue;
      const std::uint64_t most =
          piece_bytes(division.free_at_most(op.moved, op.length), rails.size() + 1, options_.piece_bytes);
      const Division::Range range = division.next(op.moved, op.reassembly, op.length, most);
      if (range.empty()) {
        operations_.deactivate(op);
        return any;
      }
      const Status sent = ask_for_piece(op, link, range);
      if (sent == Status::ok) {
        division.assign(link, range);
        any = true;
      } else if (sent == Status::no_resource) {
        waits = true;
      } else if (i == 0) {
        op.outcome = sent;
        finisher_.end(op);
        return true;
      }  // else the rail is dead, and its link_down follows
    }
  }
  waits ? operations_.activate(op) : operations_.deactivate(op);
  return any;
}

/// Asks for one piece by the link. no_resource: the link has no room for the request, or is not up yet.
Status Requests::ask_for_piece(const RecvOp& op, const LinkRef& link, const Division::Range& range) noexcept {
  const std::uint32_t fragment = std::min(op.fragment_bytes, link.packet_max());
  if (fragment == 0) return Status::no_resource;
  const wire::RtrBody body{op.id, range.begin, range.end - range.begin, fragment, 0, 1, {}};
  return link.send_control(wire::make_header(wire::Kind::rtr, op.peer_op), &body, sizeof(body));
}

void Requests::note_received(RecvOp& op, const LinkRef& link, std::uint64_t place,
                             std::uint64_t bytes) noexcept {
  const bool is_whole = divisions_[op.division].note_received(link, place, bytes);
  if (is_whole && &link != op.link) ++owner_.counters.by_rails;
  if (op.moved >= op.length)
    finisher_.end_receiving(op);
  else if (is_whole)
    ask_for_pieces(op);
}

void Requests::fail_rail(const LinkRef& link, const LinkRef& rail) noexcept {
  operations_.for_each_named([&](Operation& op) {
    const bool is_asked_for = op.kind == Operation::Kind::recv && op.divided && op.link == &link &&
                              op.state == Operation::State::receiving;
    if (!is_asked_for) return;
    const bool goes_on = !op.failed && op.outcome == Status::ok;
    if (divisions_[op.division].release_all(rail) && goes_on) operations_.activate(op);
  });
}

}  // namespace stria::rndv
