// Regions: registered with every device, found again by the name in a key, and served by the engine to peers
// whose provider cannot.

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
  region->id = regions_.insert(region.get());
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const Device& device = devices_[i];
    const unsigned rights = rights_for(device, access);
    stria_provider_key_t key{};
    // A device without a key for this memory is no obstacle: the engine serves puts, gets and atomics itself.
    if (rights == 0 ||
        device.ops->fast_register(device.handle, nullptr, &region->memory, rights, &key) != STRIA_OK)
      continue;
    region->keys[i] = key;
    if (device.atomics == Device::Atomics::adapter && (rights & STRIA_ACCESS_REMOTE_ATOMIC) != 0)
      region->performer = KeyHead::kAdapter;
  }
  return region.release();
}

void Worker::deregister_region(Region* region) noexcept {
  regions_.erase(region->id);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (region->keys[i].bytes != 0)
      static_cast<void>(devices_[i].ops->invalidate(devices_[i].handle, &region->keys[i]));
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
  const Region* region = regions_.find(region_id);
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

}  // namespace stria::tag
