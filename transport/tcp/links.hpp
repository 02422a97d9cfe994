// The links of a device, and how they end. A link that has failed is closed and taken out of the table at
// once. link_down is called later, when no call of the device is at work on the link; then its memory goes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/tcp/link.hpp"

namespace stria::tcp {

class Links {
 public:
  explicit Links(Shared& shared) noexcept : shared_(shared) {}

  /// The link to a worker. Null: there is none, or it has failed.
  Link* to_worker(std::uint64_t worker) const noexcept;
  /// Makes the link to a peer that has none. Throws bad_alloc.
  Link& add(Address peer);
  /// Ends a link: the device calls link_down with `why` later. `reason`: a line for the log; empty: none.
  void fail(Link& link, Status why, const std::string& reason) noexcept;
  bool has_failed_links() const noexcept { return !failed_.empty(); }
  bool has_failed_link_to(std::uint64_t worker) const noexcept;
  /// Removes the next failed link. The caller calls its link_down, and its memory goes with the result. Null:
  /// there is none.
  struct Failed {
    std::unique_ptr<Link> link;
    Status why = Status::ok;
  };
  Failed next_failed() noexcept;
  template <class Do>
  void for_each(Do&& action) const {
    for (const auto& [worker, link] : by_worker_) action(*link);
  }
  /// Closes idle bulk connections of a few links, those first that were used longest ago. False: no link has
  /// idle ones.
  bool make_room() noexcept;
  /// Destroys all links without upcalls.
  void clear() noexcept;

 private:
  Shared& shared_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Link>> by_worker_;
  std::vector<Failed> failed_;
};

}  // namespace stria::tcp
