#include "transport/fake/kept.hpp"

#include <utility>

#include "transport/fake/callers.hpp"
#include "transport/fake/device.hpp"
#include "transport/fake/fabric.hpp"

namespace stria::fake {

void KeptPayloads::add(std::uint64_t name, QueuedPacket packet, const Link& link, Fabric& fabric) {
  kept_.emplace(name, Kept{std::move(packet), &link});
  ++fabric.statistics().kept;
  ++fabric.statistics().all_kept;
}

void KeptPayloads::release(std::uint64_t name, Fabric& fabric) noexcept {
  if (kept_.erase(name) == 0) broken_contract("release", "no payload of that name is kept");
  --fabric.statistics().kept;
}

std::uint32_t KeptPayloads::arrived(std::uint64_t name, std::uint32_t bytes, Fabric& fabric) noexcept {
  const auto found = kept_.find(name);
  if (found == kept_.end()) broken_contract("kept_arrived", "no payload of that name is kept");
  QueuedPacket& packet = found->second.packet;
  const std::uint32_t there = packet.growth.there(packet.payload);
  // That the sender is gone the link says, and not this.
  if (packet.growth.is_cut()) return there;
  // A caller that waits for nothing sees what came meanwhile.
  return packet.growth.arrived(packet.payload, bytes != 0 ? bytes : there + 1, fabric);
}

void KeptPayloads::end_growth(const Link& link, bool may_be_cut, Fabric& fabric) noexcept {
  for (auto& [name, kept] : kept_) {
    if (kept.link != &link || !kept.packet.growth.is_under_way()) continue;
    if (may_be_cut && fabric.chance(50))
      kept.packet.growth.cut();
    else
      kept.packet.growth.end(kept.packet.payload);
  }
}

void Link::release(std::uint64_t keep) noexcept {
  const std::lock_guard lock(owner_.fabric().mutex());
  owner_.kept().release(keep, owner_.fabric());
}

std::uint32_t Link::kept_arrived(std::uint64_t keep, std::uint32_t, std::uint32_t bytes) noexcept {
  const std::lock_guard lock(owner_.fabric().mutex());
  return owner_.kept().arrived(keep, bytes, owner_.fabric());
}

}  // namespace stria::fake
