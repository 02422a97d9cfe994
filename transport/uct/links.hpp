// Owns the links of a device, and finds a link in O(1) by its prefix or by the worker that it leads to.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "transport/uct/link.hpp"

namespace stria::uct {

class Links {
 public:
  /// Makes a link with a new prefix. Throws std::bad_alloc; a failed call adds no link.
  Link& add(Shared& shared, const Address& peer);
  /// Hands the link over to the caller; no function here finds it any more.
  std::unique_ptr<Link> remove(Link& link) noexcept;

  /// The link with this prefix; null: there is none, or the link has ended.
  Link* find(Prefix prefix) const noexcept {
    Link* const link = prefix.number() < slots_.size() ? slots_[prefix.number()].get() : nullptr;
    return link != nullptr && link->own_prefix() == prefix ? link : nullptr;
  }
  /// The link to this worker; null: there is none.
  Link* to_worker(std::uint64_t worker) const noexcept {
    const auto found = by_worker_.find(worker);
    return found != by_worker_.end() ? found->second : nullptr;
  }
  Link* by_endpoint(uct_ep_h endpoint) const noexcept;  ///< O(links)

  std::size_t count() const noexcept { return by_worker_.size(); }
  template <class F>
  void for_each(F&& call) const {
    for (const std::unique_ptr<Link>& link : slots_)
      if (link != nullptr) call(*link);
  }

 private:
  std::vector<std::unique_ptr<Link>> slots_;
  std::vector<std::uint32_t> free_;  // empty slots; its capacity is at least slots_.size()
  std::unordered_map<std::uint64_t, Link*> by_worker_;
};

}  // namespace stria::uct
