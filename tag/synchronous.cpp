// Synchronous messages that are short enough go at once, as eager ones do, and the receiver ends the sender's
// operation by a FIN when it has a receive for them, before it copies a byte. Long ones, those for which the
// receiver granted no credit, and those for whose operations no slot is left, are announced.
#include "base/log.hpp"
#include "tag/sends.hpp"

namespace stria::tag {

using transport::Header;

// in_progress: gone. no_resource: nothing changed. unsupported: to be announced.
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
  if (name == 0 || peer.state != Peer::State::up) return true;  // there is nobody to tell
  if (!rndv_.confirm_match(peer.link, name)) {
    log::error("out of memory for the answer to a synchronous message of worker {:#x}", peer.worker_id);
    return false;
  }
  if (!rndv_.resting()) activity_.work_left();
  return true;
}

}  // namespace stria::tag
