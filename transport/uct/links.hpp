// The links of a device, found in O(1) by what names them: a prefix, or the peer's worker.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "transport/uct/link.hpp"

namespace stria::uct {

class Links {
 public:
  /// Throws std::bad_alloc, and changes nothing then.
  Link& add(Shared& shared, const Address& peer);
  /// Nothing names it any more.
  std::unique_ptr<Link> remove(Link& link) noexcept;

  /// Null: none has this prefix, or no more.
  Link* find(Prefix prefix) const noexcept {
    Link* const link = prefix.number() < slots_.size() ? slots_[prefix.number()].get() : nullptr;
    return link != nullptr && link->own_prefix() == prefix ? link : nullptr;
  }
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
  std::vector<std::uint32_t> free_;  // has room for all of slots_
  std::unordered_map<std::uint64_t, Link*> by_worker_;
};

}  // namespace stria::uct
