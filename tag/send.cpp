#include "base/fits.hpp"
#include "tag/eager_or_announced.hpp"
#include "tag/mappable.hpp"
#include "tag/sends.hpp"
#include "transport/payload.hpp"

namespace stria::tag {

using transport::Header;

Status Sends::send(Peer& peer, const stria_send_t& send, stria_request_t* request) noexcept {
  if (activity_.closing()) return Status::cancelled;
  stria_payload_t memory;
  if (describe_memory(send.base, send.layout, send.count, memory) != Status::ok) return Status::invalid;
  if (peers_.is_own(peer) && send_own(peer, send, memory)) return Status::ok;
  if ((send.flags & STRIA_SEND_IMMEDIATE) != 0) return send_immediate(peer, send, memory);
  bool full = false;
  if (peer.state == Peer::State::up && peer.pending.empty() && (send.flags & STRIA_SEND_SYNCHRONOUS) == 0) {
    const Status sent =
        send_eager(peer, wire::make_header(wire::Kind::eager, send.tag, send.immediate), memory);
    if (sent != Status::unsupported && sent != Status::no_resource) return sent;  // without a request
    full = sent == Status::no_resource;
  }
  return send_later(peer, send, memory, full, request);
}

Status Sends::send_immediate(Peer& peer, const stria_send_t& send, const stria_payload_t& memory) noexcept {
  if (peer.state != Peer::State::up) {
    // Else a caller that retries on no_resource would retry for ever.
    const Status connected = peers_.connect(peer);
    return connected == Status::ok ? Status::no_resource : connected;
  }
  const bool can = peer.pending.empty() && (send.flags & STRIA_SEND_SYNCHRONOUS) == 0;
  const Status sent =
      can ? send_eager(peer, wire::make_header(wire::Kind::eager, send.tag, send.immediate), memory)
          : Status::no_resource;
  return sent == Status::unsupported ? Status::no_resource : sent;
}

// no_resource: nothing changed. unsupported: to be announced, as it is longer than the eager limit or the
// credit, as there is no room for a message of its length (kWaitForRoomMax), or because that is faster
// (plan_way()).
Status Sends::send_eager(Peer& peer, const Header& header, const stria_payload_t& memory) noexcept {
  const auto bytes = static_cast<std::uint64_t>(memory.length);
  if (!eager::Sender::admits(peer, bytes)) return Status::unsupported;
  const Way way = plan_way(peer.link, memory, overlaps_packing_, [&] { return Mappable::has(memory); });
  return way == Way::announced ? Status::unsupported : sender_.send(peer, header, memory, way);
}

// Sends with a request. `full`: the eager path just had no room, so the message waits without another try.
Status Sends::send_later(Peer& peer, const stria_send_t& send, const stria_payload_t& memory, bool full,
                         stria_request_t* request) noexcept {
  if (peer.state != Peer::State::up) {
    if (peer.state == Peer::State::failed) return Status::peer_failed;
    const Status connected = peers_.connect(peer);
    if (connected != Status::ok) return connected;
  }
  Request* made = Request::make(request, &activity_, RequestKind::send, send.callback, send.user);
  made->peer = &peer;
  made->synchronous = (send.flags & STRIA_SEND_SYNCHRONOUS) != 0;
  made->info.tag = send.tag;
  made->info.immediate = send.immediate;
  made->info.length = static_cast<std::uint64_t>(memory.length);
  made->info.source = activity_.worker_id();
  rndv::SendOp& op = made->make_send();
  op.link = &peer.link;
  transport::copy_payload(op.memory, memory);
  op.length = made->info.length;
  Status started = Status::no_resource;
  if (!full && peer.pending.empty()) started = start(peer, *made);
  if (started == Status::no_resource) {
    made->state.store(RequestState::pending, std::memory_order_relaxed);
    peer.pending.push_back(&op);
    activity_.add_to_backlog(peer);
    return Status::in_progress;
  }
  return started;
}

// ok: sent, the operation has ended. in_progress: announced, or sent as a synchronous message, whose match is
// awaited. no_resource: nothing changed.
Status Sends::start(Peer& peer, Request& request) noexcept {
  rndv::SendOp& op = request.body.send;
  const bool announced = op.state == rndv::Operation::State::announce;
  if (!announced) {
    const stria_info_t& info = request.info;
    const Status sent =
        request.synchronous
            ? send_synchronous(peer, request)
            : send_eager(peer, wire::make_header(wire::Kind::eager, info.tag, info.immediate), op.memory);
    if (sent != Status::unsupported) return sent;
  }
  Header header = wire::make_header(wire::Kind::rts, request.info.tag, request.info.immediate);
  header.sequence = peer.send_sequence;
  const Status sent = rndv_.announce(op, header);
  if (sent != Status::ok) return sent;
  ++peer.send_sequence;
  ++announced_;
  request.state.store(RequestState::active, std::memory_order_relaxed);
  return Status::in_progress;
}

bool Sends::flush(Peer& peer, unsigned& moved) noexcept {
  while (rndv::Operation* op = peer.pending.front()) {
    Request& request = *Request::of(*op);
    const Status started = start(peer, request);
    if (started == Status::no_resource) return false;
    ++moved;
    peer.pending.pop_front();
    if (started != Status::in_progress) complete(request, started);
    if (peer.state != Peer::State::up) return false;
  }
  return true;
}

void Sends::fail(Peer& peer, Status why) noexcept {
  while (rndv::Operation* op = peer.pending.pop_front()) {
    Request& request = *Request::of(*op);
    rndv_.abandon(request.body.send);
    complete(request, why);
  }
}

void Sends::take_back(Peer& peer, Waiting& waiting) noexcept {
  while (rndv::Operation* op = peer.pending.pop_front()) {
    rndv_.abandon(Request::of(*op)->body.send);  // its key was the provider's
    waiting.push_back(op);
  }
}

void Sends::give_back(Peer& peer, Waiting& waiting) noexcept {
  while (rndv::Operation* op = waiting.pop_front()) peer.pending.push_back(op);
}

void Sends::end(Waiting& waiting, Status why) noexcept {
  while (rndv::Operation* op = waiting.pop_front()) complete(*Request::of(*op), why);
}

void Sends::counters(stria_counters_t& out) const noexcept {
  out.sent_pio = sender_.counters().pio;
  out.sent_buffered = sender_.counters().buffered;
  out.sent_rendezvous = announced_;
  out.copied_own = copied_own_;
}

}  // namespace stria::tag
