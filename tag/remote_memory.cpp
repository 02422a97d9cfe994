// Regions and keys, puts and gets: by the provider where it can, else by the peer's engine.
#include <sched.h>

#include <cstring>

#include "base/format.hpp"
#include "tag/worker.hpp"
#include "transport/payload.hpp"

namespace stria::tag {

Result<Region*> Worker::register_region(void* base, const stria_layout_t* layout, std::uint64_t count,
                                        unsigned access) {
  stria_payload_t memory;
  if (describe_memory(base, layout, count, memory) != Status::ok)
    return Error{Status::invalid, fmt::format("a region of {} instances leaves 64 bits", count)};
  if ((access & ~kAllAccess) != 0 || access == 0)
    return Error{Status::invalid, fmt::format("access {:#x} is not made of STRIA_ACCESS_* bits", access)};
  if ((access & STRIA_ACCESS_ATOMIC_WITH_CPU) != 0 && (access & STRIA_ACCESS_REMOTE_ATOMIC) == 0)
    return Error{Status::invalid, fmt::format("access {:#x} has STRIA_ACCESS_ATOMIC_WITH_CPU without "
                                              "STRIA_ACCESS_REMOTE_ATOMIC",
                                              access)};
  auto region = std::make_unique<Region>();
  region->worker = this;
  region->layout = layout == nullptr ? nullptr : stria_layout_retain(layout);
  region->memory = memory;
  region->access = access;
  region->keys.resize(devices_.size());
  std::size_t slot = 0;
  while (slot < regions_.size() && regions_[slot].region != nullptr) ++slot;
  if (slot == regions_.size()) regions_.emplace_back();
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const Device& device = *devices_[i];
    const unsigned rights = rights_for(device, access);
    stria_provider_key_t key{};
    // A device without a key for this memory is no obstacle: the engine serves puts, gets and atomics itself.
    if (rights == 0 ||
        device.ops->fast_register(device.handle, nullptr, &region->memory, rights, &key) != STRIA_OK)
      continue;
    region->keys[i] = key;
    if (device.atomics == Device::Atomics::adapter && (rights & STRIA_ACCESS_REMOTE_ATOMIC) != 0 &&
        key.bytes <= sizeof(rndv::AtomicOp::key.data))
      region->performer = KeyHead::kAdapter;
  }
  regions_[slot].region = region.get();
  region->id = (static_cast<std::uint64_t>(regions_[slot].generation) << 32) | slot;
  return region.release();
}

Region* Worker::find_region(std::uint64_t id) noexcept {
  const auto slot = static_cast<std::uint32_t>(id);
  if (slot >= regions_.size() || regions_[slot].generation != static_cast<std::uint32_t>(id >> 32))
    return nullptr;
  return regions_[slot].region;
}

void Worker::deregister_region(Region* region) noexcept {
  RegionSlot& slot = regions_[static_cast<std::uint32_t>(region->id)];
  slot.region = nullptr;
  ++slot.generation;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (region->keys[i].bytes != 0)
      static_cast<void>(devices_[i]->ops->invalidate(devices_[i]->handle, &region->keys[i]));
  }
  // Accesses that this engine serves go on until they ended or their peer died.
  while (rndv_.region_busy(region->id)) {
    if (progress() > 0) continue;
    check_liveness(false);
    ::sched_yield();
  }
  delete region;
}

void Worker::serve_rma(Peer& peer, const stria_packet_t& packet, bool is_get) noexcept {
  const std::uint64_t region_id = packet.header->tag;
  wire::RmaBody body;
  if (packet.bytes != sizeof(body)) {
    dropped(peer, packet, "a request for remote memory of the wrong length");
    return;
  }
  std::memcpy(&body, packet.payload, sizeof(body));
  const unsigned right = is_get ? STRIA_ACCESS_REMOTE_READ : STRIA_ACCESS_REMOTE_WRITE;
  const Region* region = find_region(region_id);
  stria_payload_t memory{};
  Status status = Status::access_error;
  if (region != nullptr && (region->access & right) != 0) {
    const auto length = static_cast<std::uint64_t>(region->memory.length);
    if (body.offset <= length && body.length <= length - body.offset) {
      memory = transport::slice(region->memory, body.offset, body.length);
      status = Status::ok;
    }
  }
  if (is_get) {
    rndv_.serve_get(peer.link, region_id, body, memory, status);
  } else {
    rndv_.serve_put(peer.link, region_id, body, memory, status);
  }
}

void Worker::on_rma_done(stria_completion_t* completion, stria_status_t status) noexcept {
  auto& op = static_cast<rndv::RecvOp&>(*completion);
  Request& request = *Request::of(op);
  Worker& worker = *request.worker;
  op.unlink();
  if (status == STRIA_ERR_UNSUPPORTED && request.peer->state == Peer::State::up) {
    const stria_payload_t memory = op.memory;  // the request's next operation takes the place of this one
    worker.renew_limits(*request.peer);
    worker.ask_peer(request, memory, op.region, op.start);
    return;
  }
  --worker.rma_in_flight_;
  if (status == STRIA_OK) request.info.received = op.length;
  complete(request, transport::from_c(status));
}

/// Has the peer's engine do what the provider does not.
void Worker::ask_peer(Request& request, const stria_payload_t& memory, std::uint64_t region,
                      std::uint64_t offset) noexcept {
  const transport::LinkRef& link = request.peer->link;
  if (request.kind == RequestKind::get) {
    rndv::RecvOp& op = request.make_recv();
    op.link = &link;
    op.memory = memory;
    op.length = static_cast<std::uint64_t>(memory.length);
    rndv_.start_remote_get(op, region, offset);
  } else {
    rndv::SendOp& op = request.make_send();
    op.link = &link;
    op.memory = memory;
    op.length = static_cast<std::uint64_t>(memory.length);
    rndv_.start_remote_put(op, region, offset);
  }
  if (!rndv_.resting()) work_left();
}

Status Worker::rma(RequestKind kind, Peer& peer, const stria_rma_t& rma, stria_request_t* request) noexcept {
  if (closing_) return Status::cancelled;
  const auto& key = *reinterpret_cast<const RemoteKey*>(rma.key);
  stria_payload_t memory;
  if (describe_memory(rma.base, rma.layout, rma.count, memory) != Status::ok) return Status::invalid;
  const auto length = static_cast<std::uint64_t>(memory.length);
  const unsigned right = kind == RequestKind::get ? STRIA_ACCESS_REMOTE_READ : STRIA_ACCESS_REMOTE_WRITE;
  if ((key.head.access & right) == 0) return Status::access_error;
  if (rma.remote_offset > key.head.length || length > key.head.length - rma.remote_offset)
    return Status::access_error;
  if (peer.state != Peer::State::up) {
    const Status connected = connect(peer);
    if (connected != Status::ok) return connected;
  }
  if (length == 0) return Status::ok;

  Request* made = Request::make(request, this, kind, rma.callback, rma.user);
  made->peer = &peer;
  made->info.length = length;
  made->info.source = peer.worker_id;
  made->state.store(RequestState::active, std::memory_order_relaxed);
  ++rma_in_flight_;
  const stria_provider_key_t part = part_for(key, devices_[peer.device]->provider->name);
  const bool can = kind == RequestKind::get ? peer.link.can_get_by(part) : peer.link.can_put_by(part);
  if (can && part.bytes != 0) {
    rndv::RecvOp& op = made->make_recv();
    op.done = &Worker::on_rma_done;
    op.length = length;
    // For ask_peer(), where the refusal comes later.
    op.memory = memory;
    op.region = key.head.region;
    op.start = rma.remote_offset;
    provider_rma_.push_back(&op);
    const Status done = kind == RequestKind::get ? peer.link.get(memory, part, rma.remote_offset, &op)
                                                 : peer.link.put(memory, part, rma.remote_offset, &op);
    if (done == Status::in_progress) return done;
    op.unlink();
    if (done != Status::unsupported && done != Status::no_resource) {
      --rma_in_flight_;
      return done;
    }
    if (done == Status::unsupported) renew_limits(peer);
  }
  // The peer's engine does it. If its link turns out to be dead now, the call says so and nobody is called
  // back.
  made->callback = nullptr;
  ask_peer(*made, memory, key.head.region, rma.remote_offset);
  if (made->state.load(std::memory_order_relaxed) == RequestState::done)
    return transport::from_c(made->info.status);
  made->callback = rma.callback;
  return Status::in_progress;
}

}  // namespace stria::tag
