// A packet is handed over: it may stay where it is, and its payload may still be written meanwhile.
#include "transport/fake/event.hpp"

namespace stria::fake {

/// As a packet is when its upcall is made: one that may grow is the beginning of this.
struct Device::Delivered {
  stria_arriving_t arriving;  // first: arrived() knows us by it
  Fabric* fabric;
  QueuedPacket* packet;

  static std::uint32_t arrived(const stria_arriving_t* self, std::uint32_t bytes) noexcept {
    const auto& it = *reinterpret_cast<const Delivered*>(self);
    const std::lock_guard lock(it.fabric->mutex());
    return it.packet->growth.arrived(it.packet->payload, bytes, *it.fabric);
  }
};

void Device::hand_over(Event& event) noexcept {
  QueuedPacket& packet = event.packet;
  const FabricOptions& options = fabric_->options();
  const bool grows = packet.growth.is_under_way();
  const bool may_stay = options.keeps && !packet.is_placed && !packet.payload.empty() && ++payloads_ % 2 == 0;
  std::uint32_t bits = packet.path == Path::buffered ? 1u : 0u;
  if (packet.is_placed) bits |= STRIA_PACKET_PLACED;
  if (grows) bits |= STRIA_PACKET_ARRIVING;
  if (options.maps && packet.path == Path::buffered && !event.link->is_far()) bits |= STRIA_PACKET_NEAR;
  const Delivered delivered{{{&packet.header, packet.is_placed ? nullptr : packet.payload.data(),
                              packet.bytes, bits, may_stay ? payloads_ : 0},
                             &Delivered::arrived},
                            fabric_.get(),
                            &packet};
  const std::uint64_t name = delivered.arriving.packet.keep;
  const std::uint32_t answer = sink_->deliver(sink_->self, event.cookie, &delivered.arriving.packet);
  const std::lock_guard lock(fabric_->mutex());
  Statistics& statistics = fabric_->statistics();
  if (grows) ++statistics.grown;
  if ((answer & STRIA_DELIVERED_LATER) != 0) {
    if (!grows) broken_contract("deliver", "a packet that came whole was left for later");
    if (packet.growth.is_cut()) broken_contract("deliver", "a packet was left whose sender is gone");
    ++statistics.left;
    packet.was_left = true;
    packet.due = step_ + 1 + fabric_->random(options.delay);
    if (!dead_) event.link->put_back(std::move(packet));
  } else if ((answer & STRIA_DELIVERED_KEPT) != 0) {
    if (name == 0) broken_contract("deliver", "a payload was kept that may not stay");
    kept_.add(name, std::move(packet), *event.link, *fabric_);
  }
}

}  // namespace stria::fake
