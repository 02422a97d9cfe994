// The links of a device, found in O(1) by what names them: a peer's worker id, the number in a packet or a
// completion, or the number of a queue pair. The worker's thread alone.
//
// A link exists from the first connect of either side to its link_down. It is found by its number and its
// queue pair only while it has a connection.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "transport/verbs/link.hpp"

namespace stria::verbs {

class Links {
 public:
  explicit Links(std::uint32_t most) : by_number_(most) {}
  /// Adds a link to `worker` without connection. Throws std::bad_alloc.
  Link& add(Shared& shared, std::uint64_t worker);
  /// Adds the accepting end of a connection of a worker to itself, by which the packets arrive that the
  /// worker sends on `near`. Throws std::bad_alloc.
  Link& add_echo(Shared& shared, Link& near);
  /// Gives the link its connection, and makes it known by number and queue pair. Throws std::bad_alloc, and
  /// changes nothing then.
  void attach(Link& link, Connection& connection);
  /// Removes a link, and gives it to the caller: no name finds it any more.
  std::unique_ptr<Link> remove(Link& link) noexcept;

  /// The link to `worker`; for a worker's own id the end that sends. Null: there is none.
  Link* to_worker(std::uint64_t worker) const noexcept {
    const auto found = by_worker_.find(worker);
    return found != by_worker_.end() ? found->second : nullptr;
  }
  Link* by_number(std::uint64_t number) const noexcept {
    return number < by_number_.size() ? by_number_[number] : nullptr;
  }
  Link* by_queue_pair(std::uint32_t number) const noexcept {
    const auto found = by_queue_pair_.find(number);
    return found != by_queue_pair_.end() ? found->second : nullptr;
  }
  const std::vector<std::unique_ptr<Link>>& all() const noexcept { return all_; }
  bool is_full() const noexcept { return all_.size() >= by_number_.size(); }

 private:
  Link& keep(std::unique_ptr<Link> link);

  std::vector<std::unique_ptr<Link>> all_;  // all_[i]->place == i
  std::vector<Link*> by_number_;
  std::unordered_map<std::uint64_t, Link*> by_worker_;
  std::unordered_map<std::uint32_t, Link*> by_queue_pair_;
};

}  // namespace stria::verbs
