// The links of a device. The link to a worker is found in O(1), and the links that are not down are in a list
// of their own, so that looking after peers costs nothing for those that are gone.
//
// A link that is down stays in the table until the device goes: payloads of it may be kept in the peer's
// cells (release() names the link), and a worker that was given up is told apart from one that is new.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "transport/shm/link.hpp"

namespace stria::shm {

/// Threads: the device's.
class Links {
 public:
  /// The link to a worker, up or down; null: there never was one.
  Link* find(std::uint64_t worker_id) const noexcept {
    const auto found = by_worker_.find(worker_id);
    return found == by_worker_.end() ? nullptr : found->second;
  }
  /// Takes the first link to that worker. Throws bad_alloc, and then nothing changed.
  Link& add(std::uint64_t worker_id, std::unique_ptr<Link> made) {
    make_room(all_);
    make_room(living_);
    Link& link = *made;
    by_worker_.emplace(worker_id, &link);
    link.place_ = living();
    living_.push_back(&link);
    all_.push_back(std::move(made));
    return link;
  }
  /// The link is down, for good: the last of the living takes its place.
  void went_down(const Link& link) noexcept {
    Link* const last = living_.back();
    living_[link.place_] = last;
    last->place_ = link.place_;
    living_.pop_back();
  }
  /// Those that are not down are living(0) to living(living() - 1), in no order. One that is added during a
  /// walk is met by it; the place of one that goes down during a walk has to be looked at again.
  std::uint32_t living() const noexcept { return static_cast<std::uint32_t>(living_.size()); }
  Link& living(std::uint32_t place) const noexcept { return *living_[place]; }
  /// How many there ever were.
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(all_.size()); }

 private:
  /// For one more element.
  template <class T>
  static void make_room(std::vector<T>& list) {
    if (list.size() == list.capacity()) list.reserve(2 * list.size() + 8);
  }
  std::vector<std::unique_ptr<Link>> all_;
  std::vector<Link*> living_;
  std::unordered_map<std::uint64_t, Link*> by_worker_;
};

}  // namespace stria::shm
