// The links of a device, and how they end: one that has failed is taken out of the way at once, link_down
// follows when nothing of the device is in the middle of it, and then its memory goes.
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

  /// Null: there is none, or it has failed.
  Link* to_worker(std::uint64_t worker) const noexcept;
  Link& add(Address peer);
  /// link_down with `why` is called by a later bury(). `reason`: a line for the log; empty: none.
  void fail(Link& link, Status why, const std::string& reason) noexcept;
  bool has_failed_links() const noexcept { return !failed_.empty(); }
  bool has_failed_link_to(std::uint64_t worker) const noexcept;
  /// The next link that has failed, for which link_down is to be called; its memory goes with it. Null: none.
  struct Failed {
    std::unique_ptr<Link> link;
    Status why = Status::ok;
  };
  Failed next_failed() noexcept;
  template <class Do>
  void for_each(Do&& action) const {
    for (const auto& [worker, link] : by_worker_) action(*link);
  }
  /// Closes the bulk connections of links that have not used theirs for longest. False: all are in use.
  bool make_room() noexcept;
  /// All links, without upcalls.
  void clear() noexcept;

 private:
  Shared& shared_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Link>> by_worker_;
  std::vector<Failed> failed_;
};

}  // namespace stria::tcp
