// Synchronous messages. One that is short enough goes eagerly at once, and the receiver ends the sender's
// operation by a FIN when it has a receive for the message, before it copies a byte. A message that is long,
// for which the receiver granted no credit, or for whose operation no slot is left, is announced.
#include "base/log.hpp"
#include "tag/sends.hpp"

namespace stria::tag {

using transport::Header;

// Sends a synchronous message eagerly. in_progress: sent. no_resource: nothing changed. unsupported: the
// message is to be announced.
Status Sends::send_synchronous(Peer& peer, Request& request) noexcept {
  rndv::SendOp& op = request.body.send;
  Header header = wire::make_header(wire::Kind::sync, request.info.tag, request.info.immediate);
  header.flags = rndv_.await_match(op, peer.send_sequence);
  if (header.flags == 0) return Status::unsupported;
  const Status sent = send_eager(peer, header, op.memory);
  if (sent != Status::ok) {
    rndv_.abandon(op);
    return sent;
  }
  request.state.store(RequestState::active, std::memory_order_relaxed);
  return Status::in_progress;
}

bool Receives::notify_matched(Peer& peer, wire::SyncName name) noexcept {
  if (name == 0 || peer.state != Peer::State::up) return true;  // no sender waits, or it is gone
  if (!rndv_.confirm_match(peer.link, name)) {
    log::error("out of memory for the answer to a synchronous message of worker {:#x}", peer.worker_id);
    return false;
  }
  if (!rndv_.resting()) activity_.work_left();
  return true;
}

}  // namespace stria::tag
