// The links of a device: all of them, by the peer's device, and those that have something for progress.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "transport/fake/link.hpp"

namespace stria::fake {

/// Under the fabric's lock.
class Links {
 public:
  /// The newest link to a device, by the device's number; null: none. It may be down.
  Link* to(std::uint32_t device) const noexcept;
  /// A new link; `params.number` and `params.window` are set here, the latter while there are windows.
  Link& add(Device& owner, std::uint32_t peer_device, Link::Params params);
  void clear() noexcept;

  std::size_t size() const noexcept { return all_.size(); }
  Link& operator[](std::size_t number) const noexcept { return *all_[number]; }
  auto begin() const noexcept { return all_.begin(); }
  auto end() const noexcept { return all_.end(); }

  /// The link has something for progress.
  void make_busy(Link& link);
  /// Those that have, in their order.
  const std::vector<Link*>& busy() noexcept;

 private:
  std::vector<std::unique_ptr<Link>> all_;
  std::unordered_map<std::uint32_t, Link*> by_peer_;  // a device's number is never used again
  std::vector<Link*> busy_;                           // some of them for the last time
  std::uint32_t windows_used_ = 0;
};

}  // namespace stria::fake
