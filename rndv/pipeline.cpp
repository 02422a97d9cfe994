// The packed pipeline: the sender packs fragment k+1 while the receiver unpacks fragment k. It needs nothing
// but eager_send, so it is the scheme that always works, on every provider and for every pair of layouts.
//
//   sender   ── RTS{length, op} ──►  receiver: match
//            ◄── RTR{ops, range, fragment size} ──
//            ── FRAG 0 ──►  ── FRAG 1 ──►  …        both complete with the last fragment (help.cpp: or
//            before)
//
// Each fragment says where in the message its bytes belong, and may overtake others (fragments.cpp). Where
// the link can, fragments are not packed but sent out of the memory itself (zero-copy sends), and are placed
// into the memory of the receive: then the send ends when the provider has given its memory back
// (holding.cpp).
#include <algorithm>

#include "base/log.hpp"
#include "rndv/engine.hpp"
#include "rndv/fragmenting.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

using transport::Header;
using transport::LinkRef;
using transport::Packet;

std::uint32_t Engine::fragment_of(const Question& question, const LinkRef& link) const noexcept {
  return options_.fragment_fixed
             ? options_.fragment_bytes
             : fragment_on_link(question, options_.fragment_bytes, link.eager_max, link.zcopy_max());
}

bool Engine::step_rtr(RecvOp& op) noexcept {
  if (!name(op)) return false;
  const bool shares = op.sink_key_bytes != 0;
  if (op.fragment_bytes == 0) op.fragment_bytes = options_.fragment_bytes;
  if (!shares) op.fragment_bytes = std::min(op.fragment_bytes, op.link->packet_max());
  const std::uint64_t wanted = shares ? senders_part(op.length, op.fragment_bytes) : op.length - op.moved;
  struct {
    wire::RtrBody rtr;
    std::uint8_t key[STRIA_PROVIDER_KEY_MAX];
  } body;
  body.rtr = {op.id, op.moved, wanted, op.fragment_bytes, op.sink_key_bytes, 0, {}};
  if (shares) std::memcpy(body.key, op.key.second(op.sink_key_bytes).data, op.sink_key_bytes);
  const Header header = wire::make_header(wire::Kind::rtr, op.peer_op);
  const Status sent = op.link->send_control(header, &body, sizeof(body.rtr) + op.sink_key_bytes);
  if (sent == Status::no_resource) return false;
  if (sent != Status::ok) {
    op.outcome = sent;
    finish(op);
    return true;
  }
  wait_for_fragments(op);
  return true;
}

bool Engine::on_rtr(const LinkRef& link, const Packet& packet, const LinkRef* rail) noexcept {
  wire::RtrBody rtr;
  if (packet.bytes < sizeof(rtr)) return false;
  std::memcpy(&rtr, packet.payload, sizeof(rtr));
  if (packet.bytes != sizeof(rtr) + rtr.key_bytes || rtr.key_bytes > STRIA_PROVIDER_KEY_MAX) return false;
  Operation* found = find(packet.header->tag, Operation::Kind::send, link);
  if (found == nullptr || found->state != Operation::State::waiting || found->ending) return true;
  auto& op = static_cast<SendOp&>(*found);
  if (rtr.piece != 0) [[unlikely]]
    return on_piece_request(op, rail != nullptr ? *rail : link, rtr);
  if (op.divided) return false;
  const auto all = static_cast<std::uint64_t>(op.memory.length);  // it may have been asked for a part before
  const bool fits = rtr.offset <= all && rtr.length <= all - rtr.offset;
  if (!fits || rtr.offset + rtr.length > wire::kPutting || rtr.fragment_bytes == 0 || link.eager_max == 0) {
    log::debug(
        "a receiver asks for bytes {}+{} in fragments of {} of a message of {} (fragments up to {}); refused",
        rtr.offset, rtr.length, rtr.fragment_bytes, all, link.eager_max);
    return refuse_request(op, rtr, Status::invalid);
  }
  if (link.railed && all >= options_.rails_from && events_.rails != nullptr) [[unlikely]]
    static_cast<void>(events_.rails(events_.self, link));  // for the next message
  op.peer_op = rtr.receiver_op;
  op.moved = rtr.offset;
  op.length = rtr.offset + rtr.length;
  op.begun = false;
  op.sink_key_bytes = 0;
  if (rtr.key_bytes != 0) {
    op.needs_fin = true;  // it is a part, whatever way it goes
    const auto* const key = static_cast<const std::byte*>(packet.payload) + sizeof(rtr);
    if (op.zcopy_sends == 0 && op.key.set_second(keys_, key, rtr.key_bytes) &&
        link.can_put_by(op.key.second(rtr.key_bytes)))
      op.sink_key_bytes = rtr.key_bytes;
  }
  choose_packing(op, rtr.fragment_bytes);
  if (op.sink_key_bytes != 0) op.fragment_bytes = rtr.fragment_bytes;
  op.state = Operation::State::streaming;
  activate(op);
  step_streaming(op);
  return true;
}

/// Ends a send whose receiver asks for what the message does not have. False.
bool Engine::refuse_request(SendOp& op, const wire::RtrBody& rtr, Status why) noexcept {
  owe_fin(*op.link, rtr.receiver_op, why);  // or it would wait for ever
  end_sending(op, why);
  return false;
}

bool Engine::step_streaming(SendOp& op) noexcept {
  if (op.sink_key_bytes != 0 || op.failed) return step_putting(op);
  if (!op.packs) {
    op.done = &Engine::on_zcopy_done;
    op.engine = this;
  }
  bool any = false;
  const Status sent = send_fragments(op, any);
  if (sent != Status::ok && sent != Status::no_resource) {
    end_sending(op, sent);
    return true;
  }
  if (op.moved < op.length) return any;
  if (op.needs_fin)
    wait_for_fin(op);
  else
    end_sending(op, Status::ok);
  return true;
}

}  // namespace stria::rndv
