// Puts and gets that this worker starts: the provider does them where it can, else the peer's engine; and the
// queue of each peer in which puts, gets and atomics wait, in the order of the calls, while the provider has
// no room for them. An operation that the provider can do waits for room, and never goes to the peer's engine
// instead: for the provider's work the target need not make progress. An operation that waits lies in its
// request, so nothing is allocated. progress() tries the first of a queue again; the end of the peer ends all
// of them.
#include "tag/remote_access.hpp"

namespace stria::tag {

Status RemoteAccess::rma(RequestKind kind, Peer& peer, const stria_rma_t& rma,
                         stria_request_t* request) noexcept {
  if (activity_.closing()) return Status::cancelled;
  const auto& key = *reinterpret_cast<const RemoteKey*>(rma.key);
  stria_payload_t memory;
  if (describe_memory(rma.base, rma.layout, rma.count, memory) != Status::ok) return Status::invalid;
  const auto length = static_cast<std::uint64_t>(memory.length);
  const unsigned right = kind == RequestKind::get ? STRIA_ACCESS_REMOTE_READ : STRIA_ACCESS_REMOTE_WRITE;
  if ((key.head.access & right) == 0) return Status::access_error;
  if (rma.remote_offset > key.head.length || length > key.head.length - rma.remote_offset)
    return Status::access_error;
  if (peer.state != Peer::State::up) {
    const Status connected = peers_.connect(peer);
    if (connected != Status::ok) return connected;
  }
  if (length == 0) return Status::ok;

  Request* made = Request::make(request, &activity_, kind, rma.callback, rma.user);
  made->peer = &peer;
  made->info.length = length;
  made->info.source = peer.worker_id;
  made->state.store(RequestState::active, std::memory_order_relaxed);
  RmaOp& op = made->make_rma();
  op.done = &RemoteAccess::on_rma_done;
  op.by = this;
  transport::copy_payload(op.memory, memory);
  op.region = key.head.region;
  op.offset = rma.remote_offset;
  ++rma_in_flight_;
  const stria_provider_key_t& part = key_part(key, peer);
  const bool can = kind == RequestKind::get ? peer.link.can_get_by(part) : peer.link.can_put_by(part);
  if (can && part.bytes != 0) {
    const Status started = peer.one_sided.empty() ? try_rma(*made, part) : Status::no_resource;
    if (started == Status::no_resource) {
      transport::copy_key(op.key, part);
      wait_for_room(peer, op);
      return Status::in_progress;
    }
    if (started == Status::in_progress) return started;
    if (started != Status::unsupported) {
      --rma_in_flight_;
      return started;
    }
    peers_.renew_limits(peer);
  }
  // If the link turns out to be dead now, the call says so, and the callback is not called.
  made->callback = nullptr;
  ask_peer(*made);
  if (made->state.load(std::memory_order_relaxed) == RequestState::done)
    return transport::from_c(made->info.status);
  made->callback = rma.callback;
  return Status::in_progress;
}

void RemoteAccess::take_up(RemoteKey& key) const noexcept {
  key.user = activity_.worker_id();
  for (const auto& device : devices_)
    key.of_device[device->number] = &part_for(key, device->name(), device->index);
}

/// The part of the key for the peer's device at the other end of the peer's main link; bytes == 0: none.
const stria_provider_key_t& RemoteAccess::key_part(const RemoteKey& key, const Peer& peer) const noexcept {
  if (key.user == activity_.worker_id()) [[likely]]
    return *key.of_device[peer.device];
  const Device& device = devices_[peer.device];
  return part_for(key, device.name(), device.index);
}

/// Has the provider do a put or get. in_progress: on_rma_done() follows. Else the operation is in no list,
/// and the provider's answer is returned.
Status RemoteAccess::try_rma(Request& request, const stria_provider_key_t& key) noexcept {
  RmaOp& op = request.body.rma;
  const transport::LinkRef& link = request.peer->link;
  provider_rma_.push_back(&op);
  const Status answered = request.kind == RequestKind::get ? link.get(op.memory, key, op.offset, &op)
                                                           : link.put(op.memory, key, op.offset, &op);
  if (answered != Status::in_progress) op.unlink();
  return answered;
}

void RemoteAccess::on_rma_done(stria_completion_t* completion, stria_status_t status) noexcept {
  auto& op = static_cast<RmaOp&>(*completion);
  Request& request = *Request::of(op);
  op.unlink();
  op.by->end_rma(request, transport::from_c(status));
}

/// Handles the provider's last answer to a put or get that was under way, or waited. A refusal does not end
/// it: the peer's engine does it then.
void RemoteAccess::end_rma(Request& request, Status answered) noexcept {
  if (answered == Status::unsupported && request.peer->state == Peer::State::up) {
    peers_.renew_limits(*request.peer);
    ask_peer(request);
    return;
  }
  --rma_in_flight_;
  if (answered == Status::ok) request.info.received = request.info.length;
  complete(request, answered);
}

/// Has the peer's engine do a put or get that the provider does not.
void RemoteAccess::ask_peer(Request& request) noexcept {
  const transport::LinkRef& link = request.peer->link;
  const RmaOp& asked = request.body.rma;
  // Copies, as the engine's operation takes the place of `asked` in the request.
  const stria_payload_t memory = asked.memory;
  const std::uint64_t region = asked.region, offset = asked.offset;
  const auto begin = [&](auto& op) {
    op.link = &link;
    op.memory = memory;
    op.length = request.info.length;
  };
  if (request.kind == RequestKind::get) {
    rndv::RecvOp& op = request.make_recv();
    begin(op);
    rndv_.start_remote_get(op, region, offset);
  } else {
    rndv::SendOp& op = request.make_send();
    begin(op);
    rndv_.start_remote_put(op, region, offset);
  }
  if (!rndv_.resting()) activity_.work_left();
}

void RemoteAccess::wait_for_room(Peer& peer, ListNode& op) noexcept {
  peer.one_sided.push_back(&op);
  activity_.add_to_backlog(peer);
}

/// Starts the operations that wait for the peer, in order, until there is no room any more. Returns how many
/// moved. A callback may start others, and end the peer.
unsigned RemoteAccess::flush_one_sided(Peer& peer) noexcept {
  unsigned moved = 0;
  while (ListNode* first = peer.one_sided.pop_front()) {
    Request& request = *Request::of(*first);
    const bool is_atomic = request.kind == RequestKind::atomic;
    const Status started =
        is_atomic ? try_atomic(peer, request.body.atomic) : try_rma(request, request.body.rma.key);
    if (started == Status::no_resource) {
      peer.one_sided.push_front(first);
      return moved;
    }
    ++moved;
    if (started == Status::in_progress) continue;
    if (is_atomic)
      on_atomic_ended(this, request.body.atomic, started);
    else
      end_rma(request, started);
    if (peer.state != Peer::State::up) return moved;
  }
  return moved;
}

void RemoteAccess::end(Waiting& waiting, Status why) noexcept {
  while (ListNode* op = waiting.pop_front()) {
    Request& request = *Request::of(*op);
    if (request.kind != RequestKind::atomic) --rma_in_flight_;
    complete(request, why);
  }
}

void RemoteAccess::take_back(Peer& peer, Waiting& waiting) noexcept {
  while (ListNode* op = peer.one_sided.pop_front()) waiting.push_back(op);
}

void RemoteAccess::give_back(Peer& peer, Waiting& waiting) noexcept {
  while (ListNode* op = waiting.pop_front()) {
    Request& request = *Request::of(*op);
    if (request.kind != RequestKind::atomic) {
      ask_peer(request);
    } else if (request.body.atomic.owner_may_perform) {
      request.body.atomic.key.bytes = 0;
      peer.one_sided.push_back(op);
    } else {
      complete(request, Status::unsupported);
    }
  }
}

}  // namespace stria::tag
