// Atomics on regions. Who performs them is said by the region's key, because an adapter's are not atomic with
// a CPU's: where the owner has nothing but one adapter that can, that does for all peers; else CPUs do, the
// owner's on request, or a peer's that has the memory mapped.
#include <cstring>

#include "tag/worker.hpp"
#include "transport/atomic_word.hpp"

namespace stria::tag {

using transport::kWordBytes;

unsigned Worker::rights_for(const Device& device, unsigned access) const noexcept {
  constexpr unsigned kMoves = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE;
  const bool performs = device.atomics == Device::Atomics::cpu ||
                        (device.atomics == Device::Atomics::adapter && devices_.size() == 1 &&
                         (access & STRIA_ACCESS_ATOMIC_WITH_CPU) == 0);
  return access & (performs ? kMoves | STRIA_ACCESS_REMOTE_ATOMIC : kMoves);
}

Status Worker::atomic(Peer& peer, const stria_atomic_t& atomic, stria_request_t* request) noexcept {
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

/// Decides who performs it, and tries once. no_resource: it has to wait, and try_atomic() knows the way.
Status Worker::start_atomic(Peer& peer, rndv::AtomicOp& op, const RemoteKey& key) noexcept {
  const Device& device = devices_[peer.device];
  const stria_provider_key_t& part = key_part(key, peer);
  if (key.head.performer == KeyHead::kAdapter) {
    if (device.atomics != Device::Atomics::adapter || !peer.link.can_atomic || part.bytes == 0)
      return Status::unsupported;
    transport::copy_key(op.key, part);  // the caller's may be closed before there is room
  } else {
    op.owner_may = true;
    const bool reaches = peer.link.can_atomic || (peer.link.can_map && transport::is_mapped(part));
    if (device.atomics == Device::Atomics::cpu && part.bytes != 0 && reaches)
      transport::copy_key(op.key, part);
  }
  return peer.one_sided.empty() ? try_atomic(peer, op) : Status::no_resource;
}

/// By the provider where there is a key for that, else by the owner. no_resource: nothing changed.
Status Worker::try_atomic(Peer& peer, rndv::AtomicOp& op) noexcept {
  if (op.key.bytes != 0) {
    const Status status = atomics_.try_provider(op);
    if (status != Status::unsupported) return status;
    peers_.renew_limits(peer);
    if (!op.owner_may) return status;
    op.key.bytes = 0;
  }
  return atomics_.try_ask(op);
}

unsigned Worker::flush_answers(Peer& peer) noexcept {
  bool rest = false;
  const unsigned moved = atomics_.flush(peer.link, rest);
  peer.answers_due = rest;
  return moved;
}

void Worker::on_atomic_ended(void*, rndv::AtomicOp& op, Status outcome) noexcept {
  Request& request = *Request::of(op);
  if (outcome == Status::ok) request.info.received = kWordBytes;
  complete(request, outcome);
}

void Worker::serve_atomic(Peer& peer, const stria_packet_t& packet) noexcept {
  wire::AtomicBody body;
  if (packet.bytes != sizeof(body)) {
    dropped(peer, packet, "a request for an atomic of the wrong length");
    return;
  }
  std::memcpy(&body, packet.payload, sizeof(body));
  const transport::Atomic what{packet.header->immediate, 0, body.offset, body.operand, body.compare, nullptr};
  std::uint64_t before = 0;
  const Status status = perform(packet.header->tag, what, before);
  switch (atomics_.answer(peer.link, body.initiator_op, status, before)) {
    case Status::no_resource:
      peer.answers_due = true;
      activity_.add_to_backlog(peer);
      break;
    case Status::io_error:
      give_up(peer, "gets no answer, as there is no memory for it");
      break;
    default:
      break;
  }
}

// Every field comes from the peer.
Status Worker::perform(std::uint64_t region_id, const transport::Atomic& what,
                       std::uint64_t& before) noexcept {
  const Region* region = regions_.find(region_id);
  if (region == nullptr || (region->access & STRIA_ACCESS_REMOTE_ATOMIC) == 0) return Status::access_error;
  // Ours would not be atomic with the adapter's.
  if (region->performer == KeyHead::kAdapter) return Status::unsupported;
  const auto length = static_cast<std::uint64_t>(region->memory.length);
  if (length < kWordBytes || what.offset > length - kWordBytes) return Status::access_error;
  if (!transport::is_atomic_op(what.op) || what.offset % kWordBytes != 0) return Status::invalid;
  std::uint64_t* word = nullptr;
  if (const Status found = transport::find_word(region->memory, what.offset, word); found != Status::ok)
    return found;
  before = transport::perform(what, *word);
  return Status::ok;
}

}  // namespace stria::tag
