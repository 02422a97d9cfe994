#include "rndv/streamer.hpp"

#include "base/log.hpp"
#include "rndv/fragmenting.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

using transport::LinkRef;
using transport::Packet;

bool Streamer::on_rtr(const LinkRef& link, const Packet& packet, const LinkRef* rail) noexcept {
  wire::RtrBody rtr;
  if (packet.bytes < sizeof(rtr)) return false;
  std::memcpy(&rtr, packet.payload, sizeof(rtr));
  if (packet.bytes != sizeof(rtr) + rtr.key_bytes || rtr.key_bytes > STRIA_PROVIDER_KEY_MAX) return false;
  Operation* found = operations_.find(packet.header->tag, Operation::Kind::send, link);
  if (found == nullptr || found->state != Operation::State::waiting || found->ending) return true;
  auto& op = static_cast<SendOp&>(*found);
  if (op.has_rail_keys) [[unlikely]]
    finisher_.end_rail_keys(op);
  if (rtr.piece != 0) [[unlikely]]
    return on_piece_request(op, rail != nullptr ? *rail : link, rtr);
  if (op.divided || (rtr.key_bytes != 0 && rail != nullptr)) return false;  // a key is for the main link
  // Not op.length: that may be a part that was asked for before.
  const auto all = static_cast<std::uint64_t>(op.memory.length);
  const bool fits = rtr.offset <= all && rtr.length <= all - rtr.offset;
  if (!fits || rtr.offset + rtr.length > wire::kPutting || rtr.fragment_bytes == 0 || link.eager_max == 0) {
    log::debug(
        "a receiver asks for bytes {}+{} in fragments of {} of a message of {} (fragments up to {}); refused",
        rtr.offset, rtr.length, rtr.fragment_bytes, all, link.eager_max);
    return refuse_request(op, rtr, Status::invalid);
  }
  if (link.railed && all >= options_.rails_from && owner_.has_rails()) [[unlikely]]
    static_cast<void>(owner_.rails(link));  // connects them for the next message
  op.peer_op = rtr.receiver_op;
  op.moved = rtr.offset;
  op.length = rtr.offset + rtr.length;
  op.put_begun = false;
  op.sink_key_bytes = 0;
  if (rtr.key_bytes != 0) {
    op.needs_fin = true;  // the receiver asks for a part of the message, and ends the send by a FIN
    const auto* const key = static_cast<const std::byte*>(packet.payload) + sizeof(rtr);
    if (op.zcopy_sends == 0 && op.key.set_sink_key(keys_, key, rtr.key_bytes) && link.can_map &&
        transport::is_mapped(op.key.sink_key(rtr.key_bytes)))
      op.sink_key_bytes = rtr.key_bytes;
  }
  choose_packing(op, rtr.fragment_bytes);
  if (op.sink_key_bytes != 0) op.fragment_bytes = rtr.fragment_bytes;
  op.state = Operation::State::streaming;
  operations_.activate(op);
  step(op);
  return true;
}

/// Ends a send whose receiver asks for bytes that the message does not have, and tells the receiver. Returns
/// false.
bool Streamer::refuse_request(SendOp& op, const wire::RtrBody& rtr, Status why) noexcept {
  finisher_.queue_fin(*op.link, rtr.receiver_op, why);  // without it the receiver would wait for ever
  finisher_.end_sending(op, why);
  return false;
}

bool Streamer::step(SendOp& op) noexcept {
  if (op.sink_key_bytes != 0 || op.failed) return putter_.step(op);
  if (!op.packs) {
    op.done = &Streamer::on_zcopy_done;
    op.streamer = this;
  }
  bool any = false;
  const Status sent = send_fragments(op, any);
  if (sent != Status::ok && sent != Status::no_resource) {
    finisher_.end_sending(op, sent);
    return true;
  }
  if (op.moved < op.length) return any;
  if (op.needs_fin)
    operations_.wait(op);
  else
    finisher_.end_sending(op, Status::ok);
  return true;
}

/// Handles an RTR for one piece, which came by the link `via`. A receiver may ask for the same bytes a second
/// time, after the death of the link that was to bring them first; the sender does not check that.
bool Streamer::on_piece_request(SendOp& op, const LinkRef& via, const wire::RtrBody& rtr) noexcept {
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
  log::debug("a receiver asks for more than {} pieces of a message at a time; refused",
             PieceSender::kMaxPieces);
  return refuse_request(op, rtr, started);
}

void Streamer::on_zcopy_done(stria_completion_t* completion, stria_status_t status) noexcept {
  auto& op = static_cast<SendOp&>(*completion);
  op.streamer->zcopy_ended(op, transport::from_c(status));
}

/// A zero-copy send of op has ended. A failure says that the link is dead, so the send is over, too.
void Streamer::zcopy_ended(SendOp& op, Status status) noexcept {
  --op.zcopy_sends;
  if (status != Status::ok && op.outcome == Status::ok) op.outcome = status;
  if (op.ending || status != Status::ok) finisher_.end(op);
}

}  // namespace stria::rndv
