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
  Device* device = fabric.find_worker(worker_id);
  if (device == nullptr) return false;
  device->die(loss);
  return true;
}

bool block(Fabric& fabric, std::uint64_t from, std::uint64_t to, bool blocked) {
  const std::lock_guard lock(fabric.mutex());
  Device* sender = fabric.find_worker(from);
  Device* receiver = fabric.find_worker(to);
  if (sender == nullptr || receiver == nullptr) return false;
  Link* link = receiver->link_to(*sender);
  if (link == nullptr) return false;
  link->set_blocked(blocked);
  return true;
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
  Device* device = fabric.find_worker(worker_id);
  return device == nullptr ? 0 : device->keys().valid();
}

}  // namespace stria::fake
