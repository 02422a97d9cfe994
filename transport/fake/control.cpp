#include "transport/fake/control.hpp"

#include <utility>

#include "transport/fake/device.hpp"
#include "transport/fake/fabric.hpp"

namespace stria::fake {

std::shared_ptr<Fabric> make_fabric(const FabricOptions& options) {
  return std::make_shared<Fabric>(options);
}

UseFabric::UseFabric(std::shared_ptr<Fabric> fabric) : previous_(select_fabric(std::move(fabric))) {}
UseFabric::~UseFabric() {
  select_fabric(std::move(previous_));
}

bool kill(Fabric& fabric, std::uint64_t worker_id, Loss loss) {
  const std::lock_guard lock(fabric.mutex());
  bool found = false;
  for (std::uint32_t index = 0; index < kMostDevices; ++index) {
    Device* const device = fabric.find(worker_id, index);
    if (device == nullptr) continue;
    device->die(loss);
    found = true;
  }
  return found;
}

bool cut_device(Fabric& fabric, std::uint64_t worker_id, std::uint32_t index, Loss loss) {
  const std::lock_guard lock(fabric.mutex());
  Device* const device = fabric.find(worker_id, index);
  if (device == nullptr) return false;
  device->cut_off(loss);
  return true;
}

bool cut_link(Fabric& fabric, std::uint64_t worker_id, std::uint64_t peer, std::uint32_t index, Loss loss) {
  const std::lock_guard lock(fabric.mutex());
  Device* const device = fabric.find(worker_id, index);
  const Device* const other = fabric.find(peer, index);
  if (device == nullptr || other == nullptr) return false;
  Link* const link = device->link_to(*other);
  if (link == nullptr) return false;
  device->cut(*link, loss);
  return true;
}

bool block(Fabric& fabric, std::uint64_t from, std::uint64_t to, bool blocked) {
  const std::lock_guard lock(fabric.mutex());
  bool found = false;
  for (std::uint32_t index = 0; index < kMostDevices; ++index) {
    Device* const sender = fabric.find(from, index);
    Device* const receiver = fabric.find(to, index);
    if (sender == nullptr || receiver == nullptr) continue;
    Link* const link = receiver->link_to(*sender);
    if (link == nullptr) continue;
    link->set_blocked(blocked);
    found = true;
  }
  return found;
}

void refuse_copies(Fabric& fabric) {
  fabric.refuse_copies();
}

void refuse_memory(Fabric& fabric, const void* memory, std::size_t bytes) {
  const std::lock_guard lock(fabric.mutex());
  fabric.refuse_memory(static_cast<const std::byte*>(memory), bytes);
}

void meddle(Fabric& fabric, std::function<Fate(stria_header_t& fragment)> fate) {
  const std::lock_guard lock(fabric.mutex());
  fabric.meddle(std::move(fate));
}

Statistics statistics(Fabric& fabric) {
  const std::lock_guard lock(fabric.mutex());
  return fabric.statistics();
}

std::size_t valid_keys(Fabric& fabric, std::uint64_t worker_id) {
  const std::lock_guard lock(fabric.mutex());
  std::size_t keys = 0;
  for (std::uint32_t index = 0; index < kMostDevices; ++index)
    if (Device* const device = fabric.find(worker_id, index)) keys += device->keys().valid();
  return keys;
}

}  // namespace stria::fake
