// One long message by several links: the receiver divides it (division.hpp) and asks each link of the peer
// for pieces, by requests that go by that link; the sender answers each request by the link that it came by
// (piece_sender.hpp). Announcement and FIN go by the main link, as ever.
//
//   sender   ── RTS ──►  receiver: match
//            ◄── RTR{piece 0} ──   ◄── RTR{piece 1} ── (main link)   ◄── RTR{piece 2} ── (rail)   …
//            ── FRAG … ──►                                           ── FRAG … ──►
//                                  a piece is whole: its link is asked for the next one
//            complete ◄── FIN ──   all is there
//
// A rail that dies takes nothing with it: what it did not bring is asked of the others. The death of the main
// link is the peer's, as a message on it may be lost.
#include <algorithm>

#include "base/cache_line.hpp"
#include "base/log.hpp"
#include "rndv/engine.hpp"

namespace stria::rndv {

using transport::LinkRef;

namespace {

/// The links share half of what is free at once, and whichever is free first is asked for more of the rest
/// then. So pieces get shorter towards the end of a message, and it does not wait long for the last one of a
/// slow link while the others have nothing to do.
std::uint64_t piece_bytes(std::uint64_t free, std::size_t links, std::uint64_t most) noexcept {
  constexpr std::uint64_t kLeast = 65536;
  const std::uint64_t share = free / (2 * links * Division::kDepth);
  return std::clamp(share / kCacheLine * kCacheLine, std::min(kLeast, most), most);
}

}  // namespace

/// Begins to receive the message in pieces. False: it is too short, or the peer has no further link.
bool Engine::divide(RecvOp& op) noexcept {
  if (op.length - op.moved < options_.rails_from || op.remote_half || events_.rails == nullptr) return false;
  if (events_.rails(events_.self, *op.link).empty() || !name(op)) return false;
  const std::uint32_t number = divisions_.take();
  if (number == 0) return false;
  op.division = number;
  op.divided = op.needs_fin = true;
  op.helps = false;
  op.tail = op.length;
  op.ahead = nullptr;
  if (op.fragment_bytes == 0) op.fragment_bytes = options_.fragment_bytes;
  op.state = Operation::State::receiving;
  step_asking(op);
  return true;
}

/// Asks each link that is free for its next piece. While one has no room for the request, or is not up yet,
/// and there is something to ask for, the operation stays in the active list.
bool Engine::step_asking(RecvOp& op) noexcept {
  Division& division = divisions_[op.division];
  const auto rails = events_.rails(events_.self, *op.link);
  bool any = false, waits = false;
  for (unsigned depth = 1; depth <= Division::kDepth; ++depth) {
    for (std::size_t i = 0; i <= rails.size(); ++i) {
      const LinkRef& link = i == 0 ? *op.link : *rails[i - 1];
      if (!division.has_room(link, depth)) continue;
      const std::uint64_t most =
          piece_bytes(division.free_at_most(op.moved, op.length), rails.size() + 1, options_.piece_bytes);
      const Division::Range range = division.next(op.moved, op.ahead, op.length, most);
      if (range.empty()) {
        deactivate(op);
        return any;
      }
      const Status sent = ask_for_piece(op, link, range);
      if (sent == Status::ok) {
        division.ask(link, range);
        any = true;
      } else if (sent == Status::no_resource) {
        waits = true;
      } else if (i == 0) {
        op.outcome = sent;
        end(op);
        return true;
      }  // else its link_down follows
    }
  }
  waits ? activate(op) : deactivate(op);
  return any;
}

Status Engine::ask_for_piece(const RecvOp& op, const LinkRef& link, const Division::Range& range) noexcept {
  const std::uint32_t fragment = std::min(op.fragment_bytes, link.packet_max());
  if (fragment == 0) return Status::no_resource;
  const wire::RtrBody body{op.id, range.begin, range.end - range.begin, fragment, 0, 1, {}};
  return link.send_control(wire::make_header(wire::Kind::rtr, op.peer_op), &body, sizeof(body));
}

/// These bytes came by the link, and are there.
void Engine::piece_moved_on(RecvOp& op, const LinkRef& link, std::uint64_t place,
                            std::uint64_t bytes) noexcept {
  const bool is_whole = divisions_[op.division].came(link, place, bytes);
  if (is_whole && &link != op.link) ++counters_.by_rails;
  if (op.moved >= op.length)
    end_receiving(op);
  else if (is_whole)
    step_asking(op);
}

void Engine::end_division(RecvOp& op) noexcept {
  divisions_.give_back(op.division);
  op.divided = false;
}

/// The sender's half. A receiver may ask for bytes a second time, after the death of the link that was to
/// bring them first; what it does with them is its own affair.
bool Engine::on_piece_request(SendOp& op, const LinkRef& via, const wire::RtrBody& rtr) noexcept {
  const auto all = static_cast<std::uint64_t>(op.memory.length);
  const bool fits = rtr.length != 0 && rtr.offset < all && rtr.length <= all - rtr.offset &&
                    rtr.offset + rtr.length <= wire::kPutting;
  const bool is_first = !op.divided;
  if (!fits || rtr.key_bytes != 0 || rtr.fragment_bytes == 0 || via.eager_max == 0 ||
      (!is_first && rtr.receiver_op != op.peer_op)) {
    log::debug("a receiver asks for a piece of bytes {}+{} in fragments of {} of a message of {}; refused",
               rtr.offset, rtr.length, rtr.fragment_bytes, all);
    return refuse_request(op, rtr, Status::invalid);
  }
  if (is_first) {
    op.divided = true;
    op.pieces = nullptr;
    op.peer_op = rtr.receiver_op;
  }
  const Status started = pieces_.start(op, via, rtr.offset, rtr.offset + rtr.length, rtr.fragment_bytes);
  if (started == Status::ok) return true;
  log::debug("a receiver asks for more than {} pieces of a message at a time; refused", PieceSender::kMost);
  return refuse_request(op, rtr, started);
}

void Engine::fail_rail(const LinkRef& link, const LinkRef& rail) noexcept {
  pieces_.fail_link(rail);
  table_.for_each([&](Operation& op) {
    if (op.link != &link || op.kind != Operation::Kind::recv || !op.divided) return;
    const bool goes_on = !op.failed && op.outcome == Status::ok;
    if (divisions_[op.division].give_back(rail) && goes_on) activate(op);
  });
}

}  // namespace stria::rndv
