#include "transport/uct/links.hpp"

#include <utility>

namespace stria::uct {

Link& Links::add(Shared& shared, const Address& peer) {
  if (free_.empty()) {
    free_.reserve(slots_.size() + 1);  // so that remove() never allocates
    slots_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  const std::uint32_t number = free_.back();
  // The token is odd, so that a prefix is never 0, which stands for no prefix.
  const Prefix prefix(number, static_cast<std::uint32_t>(random_word()) | 1u);
  auto link = std::make_unique<Link>(shared, peer, prefix);
  by_worker_[peer.worker] = link.get();
  free_.pop_back();
  slots_[number] = std::move(link);
  return *slots_[number];
}

std::unique_ptr<Link> Links::remove(Link& link) noexcept {
  const std::uint32_t number = link.own_prefix().number();
  const auto known = by_worker_.find(link.peer().worker);
  if (known != by_worker_.end() && known->second == &link) by_worker_.erase(known);
  free_.push_back(number);
  return std::move(slots_[number]);
}

Link* Links::by_endpoint(uct_ep_h endpoint) const noexcept {
  for (const std::unique_ptr<Link>& link : slots_)
    if (link != nullptr && link->endpoint == endpoint) return link.get();
  return nullptr;
}

}  // namespace stria::uct
