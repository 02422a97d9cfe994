#include "transport/tcp/links.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"

namespace stria::tcp {

Link* Links::to_worker(std::uint64_t worker) const noexcept {
  const auto found = by_worker_.find(worker);
  return found == by_worker_.end() ? nullptr : found->second.get();
}

Link& Links::add(Address peer) {
  const std::uint64_t worker = peer.worker;
  failed_.reserve(failed_.size() + by_worker_.size() + 1);  // so that fail() allocates nothing
  shared_.want_bulk.reserve(by_worker_.size() + 1);         // so that a get allocates nothing
  shared_.lost.reserve(by_worker_.size() + 1);              // so that a reset allocates nothing
  auto& place = by_worker_[worker];
  place = std::make_unique<Link>(shared_, std::move(peer));
  return *place;
}

void Links::fail(Link& link, Status why, const std::string& reason) noexcept {
  const auto found = by_worker_.find(link.peer().worker);
  if (found == by_worker_.end() || found->second.get() != &link) return;  // the link has failed before
  if (!reason.empty())
    shared_.services.log(3, fmt::format("tcp: worker {:x}: {}", link.peer().worker, reason).c_str());
  link.cut();
  failed_.push_back({std::move(found->second), why});
  by_worker_.erase(found);
}

bool Links::has_failed_link_to(std::uint64_t worker) const noexcept {
  return std::any_of(failed_.begin(), failed_.end(),
                     [worker](const Failed& one) { return one.link->peer().worker == worker; });
}

Links::Failed Links::next_failed() noexcept {
  if (failed_.empty()) return {};
  Failed out = std::move(failed_.front());
  failed_.erase(failed_.begin());
  return out;
}

bool Links::make_room() noexcept {
  constexpr unsigned kLinksAtOnce = 8;  // several, so that not each new connection looks through all links
  unsigned closed = 0;
  for (; closed < kLinksAtOnce; ++closed) {
    Link* oldest = nullptr;
    for_each([&oldest](Link& link) {
      if (link.has_idle_bulk() && (oldest == nullptr || link.bulk()->used() < oldest->bulk()->used()))
        oldest = &link;
    });
    if (oldest == nullptr) break;
    oldest->bulk()->close_idle();
  }
  return closed > 0;
}

void Links::clear() noexcept {
  by_worker_.clear();
  failed_.clear();
}

}  // namespace stria::tcp
