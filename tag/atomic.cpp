// Atomics on regions. The region's key says whether an adapter or CPUs perform them, because an adapter's
// atomics are not atomic with a CPU's. Where the owner has exactly one device, that is an adapter with
// atomics, and the region does not ask for CPUs (STRIA_ACCESS_ATOMIC_WITH_CPU), the adapter performs them for
// all peers. Else CPUs do: the owner's, on request, or that of a peer that has the memory mapped.
#include <cstring>

#include "tag/remote_access.hpp"
#include "transport/atomic_word.hpp"

namespace stria::tag {

using transport::kWordBytes;

Status RemoteAccess::atomic(Peer& peer, const stria_atomic_t& atomic, stria_request_t* request) noexcept {
  if (activity_.closing()) return Status::cancelled;
  const auto& key = *reinterpret_cast<const RemoteKey*>(atomic.key);
  if ((key.head.access & STRIA_ACCESS_REMOTE_ATOMIC) == 0 || key.head.length < kWordBytes ||
      atomic.remote_offset > key.head.length - kWordBytes)
    return Status::access_error;
  if (peer.state != Peer::State::up) {
    const Status connected = peers_.connect(peer);
    if (connected != Status::ok) return connected;
  }
  Request* made = Request::make(request, &activity_, RequestKind::atomic, atomic.callback, atomic.user);
  made->peer = &peer;
  made->info.length = kWordBytes;
  made->info.source = peer.worker_id;
  made->state.store(RequestState::active, std::memory_order_relaxed);
  rndv::AtomicOp& op = made->make_atomic();
  op.link = &peer.link;
  op.region = key.head.region;
  op.what = {static_cast<std::uint32_t>(atomic.op),
             0,
             atomic.remote_offset,
             atomic.operand,
             atomic.compare,
             atomic.result};
  const Status started = start_atomic(peer, op, key);
  if (started != Status::no_resource) return started;
  wait_for_room(peer, op);
  return Status::in_progress;
}

/// Decides whether an adapter or a CPU performs the atomic, and tries once. no_resource: it has to wait; op
/// says how try_atomic() is to try again.
Status RemoteAccess::start_atomic(Peer& peer, rndv::AtomicOp& op, const RemoteKey& key) noexcept {
  const Device& device = devices_[peer.device];
  const stria_provider_key_t& part = key_part(key, peer);
  if (key.head.performer == KeyHead::kAdapter) {
    if (device.atomics != Device::Atomics::adapter || !peer.link.can_atomic || part.bytes == 0)
      return Status::unsupported;
    transport::copy_key(op.key, part);  // the caller's key may be closed before there is room
  } else {
    op.owner_may_perform = true;
    const bool reaches = peer.link.can_atomic || (peer.link.can_map && transport::is_mapped(part));
    if (device.atomics == Device::Atomics::cpu && part.bytes != 0 && reaches)
      transport::copy_key(op.key, part);
  }
  return peer.one_sided.empty() ? try_atomic(peer, op) : Status::no_resource;
}

/// Has the atomic performed by the provider, where op has a key for that, else by the owner's engine.
/// no_resource: nothing changed.
Status RemoteAccess::try_atomic(Peer& peer, rndv::AtomicOp& op) noexcept {
  if (op.key.bytes != 0) {
    const Status status = atomics_.try_provider(op);
    if (status != Status::unsupported) return status;
    peers_.renew_limits(peer);
    if (!op.owner_may_perform) return status;
    op.key.bytes = 0;
  }
  return atomics_.try_ask(op);
}

unsigned RemoteAccess::flush_answers(Peer& peer) noexcept {
  bool rest = false;
  const unsigned moved = atomics_.flush(peer.link, rest);
  peer.answers_due = rest;
  return moved;
}

void RemoteAccess::on_atomic_ended(void*, rndv::AtomicOp& op, Status outcome) noexcept {
  Request& request = *Request::of(op);
  if (outcome == Status::ok) request.info.received = kWordBytes;
  complete(request, outcome);
}

RemoteAccess::Served RemoteAccess::serve_atomic(Peer& peer, const stria_packet_t& packet) noexcept {
  wire::AtomicBody body;
  if (packet.bytes != sizeof(body)) return Served::misfit;
  std::memcpy(&body, packet.payload, sizeof(body));
  const transport::Atomic what{packet.header->immediate, 0, body.offset, body.operand, body.compare, nullptr};
  std::uint64_t before = 0;
  const Status status = regions_.perform(packet.header->tag, what, before);
  switch (atomics_.answer(peer.link, body.initiator_op, status, before)) {
    case Status::no_resource:
      peer.answers_due = true;
      activity_.add_to_backlog(peer);
      return Served::well;
    case Status::io_error:
      return Served::no_memory;
    default:
      return Served::well;
  }
}

}  // namespace stria::tag
