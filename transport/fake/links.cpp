#include "transport/fake/links.hpp"

#include <algorithm>

#include "transport/fake/device.hpp"
#include "transport/fake/fabric.hpp"

namespace stria::fake {

Link* Links::to(std::uint32_t device) const noexcept {
  const auto found = by_peer_.find(device);
  return found == by_peer_.end() ? nullptr : found->second;
}

Link& Links::add(Device& owner, std::uint32_t peer_device, Link::Params params) {
  const FabricOptions& options = owner.fabric().options();
  params.window = options.pio && windows_used_ < options.pio_windows;
  params.number = all_.size();
  Link& link = *all_.emplace_back(std::make_unique<Link>(owner, params));
  if (params.window) ++windows_used_;
  by_peer_[peer_device] = &link;
  if (link.is_busy()) make_busy(link);
  return link;
}

void Links::clear() noexcept {
  busy_.clear();
  by_peer_.clear();
  all_.clear();
}

void Links::make_busy(Link& link) {
  const auto before = [](const Link* a, const Link* b) { return a->number() < b->number(); };
  const auto at = std::lower_bound(busy_.begin(), busy_.end(), &link, before);
  if (at == busy_.end() || *at != &link) busy_.insert(at, &link);
}

const std::vector<Link*>& Links::busy() noexcept {
  std::erase_if(busy_, [](const Link* link) { return !link->is_busy(); });
  return busy_;
}

}  // namespace stria::fake
