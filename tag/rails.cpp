#include "tag/rails.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "tag/address_store.hpp"

namespace stria::tag {

bool Rails::are_possible(const Devices& devices, const Device& device) noexcept {
  return std::any_of(devices.begin(), devices.end(), [&](const auto& other) {
    return other->number != device.number && other->provider == device.provider;
  });
}

/// The rails of the peer, made when there are none yet. Null: no memory.
Rails::OfPeer* Rails::of_peer(const Peer& peer) noexcept try {
  std::unique_ptr<OfPeer>& rails = of_peer_[peer.index];
  if (rails != nullptr) return rails.get();
  rails = std::make_unique<OfPeer>();
  const Device& main = devices_[peer.device];
  for (const auto& device : devices_)
    if (device->number != main.number && device->provider == main.provider)
      (*rails)[device->number].state = Rail::State::untried;
  return rails.get();
} catch (const std::bad_alloc&) {
  return nullptr;
}

std::span<const transport::LinkRef* const> Rails::of(const Peer& peer) noexcept {
  std::size_t count = 0;
  OfPeer* const rails = of_peer(peer);
  if (rails == nullptr) return {};
  for (const auto& device : devices_) {
    Rail& rail = (*rails)[device->number];
    if (rail.state == Rail::State::untried) connect(peer, *device, rail);
    if (rail.state == Rail::State::up) answer_[count++] = &rail.link;
  }
  return {answer_.data(), count};
}

void Rails::connect(const Peer& peer, const Device& device, Rail& rail) noexcept {
  const std::span<const std::byte> part = part_of(peer.address, device.number);
  if (part.empty()) return;  // no known address, or no such device; the peer may connect itself
  char error[512] = "";
  stria_link_t* link = nullptr;
  const stria_status_t connected =
      device.provider->connect(device.handle, part.data(), static_cast<std::uint32_t>(part.size()),
                               const_cast<Peer*>(&peer), 0, &link, error, sizeof(error));
  if ((connected == STRIA_OK || connected == STRIA_IN_PROGRESS) && link != nullptr) {
    rail = {Rail::State::up, device.link_ref(link)};
    return;
  }
  rail.state = Rail::State::dead;
  log::debug("worker {:#x} has no link by device {} of {}: {}", peer.worker_id, device.number, device.name(),
             error);
}

void Rails::joined(const Peer& peer, const Device& device, stria_link_t* link) noexcept {
  OfPeer* const rails = of_peer(peer);
  if (rails == nullptr) return;
  Rail& rail = (*rails)[device.number];
  if (rail.state == Rail::State::up || rail.state == Rail::State::foreign) return;
  const bool is_rail = device.provider == devices_[peer.device].provider;
  rail = {is_rail ? Rail::State::up : Rail::State::foreign, device.link_ref(link)};
}

const transport::LinkRef* Rails::find(const Peer& peer, std::uint8_t device) const noexcept {
  const auto found = of_peer_.find(peer.index);
  if (found == of_peer_.end() || found->second == nullptr) return nullptr;
  const Rail& rail = (*found->second)[device];
  return rail.state == Rail::State::up ? &rail.link : nullptr;
}

const transport::LinkRef* Rails::take_down(const Peer& peer, std::uint8_t device) noexcept {
  const auto found = of_peer_.find(peer.index);
  if (found == of_peer_.end() || found->second == nullptr) return nullptr;
  Rail& rail = (*found->second)[device];
  const Rail::State was = std::exchange(rail.state, Rail::State::dead);
  return was == Rail::State::up ? &rail.link : nullptr;
}

void Rails::leave(const Peer& peer, Farewells* farewells) noexcept {
  const auto found = of_peer_.find(peer.index);
  if (found == of_peer_.end()) return;
  for (const auto& device : devices_) {
    if (farewells == nullptr || found->second == nullptr) break;  // nothing is owed, or no memory for rails
    const Rail& rail = (*found->second)[device->number];
    if (rail.state == Rail::State::up || rail.state == Rail::State::foreign)
      farewells->owe(peer, *device, rail.link.link);
  }
  of_peer_.erase(found);
}

void Rails::renew_limits(const Peer& peer, const transport::LinkRef& rail) noexcept {
  for (const auto& device : devices_)
    if (find(peer, device->number) == &rail) renew_limits(peer, device->number);
}

void Rails::renew_limits(const Peer& peer, std::uint8_t device) noexcept {
  if (find(peer, device) == nullptr) return;
  transport::LinkRef& link = (*of_peer_.at(peer.index))[device].link;
  stria_link_limits_t limits{};
  devices_[device].provider->link_limits(link.link, &limits);
  link.take(limits);
}

}  // namespace stria::tag
