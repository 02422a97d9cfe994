// The links of a device, by worker. The link to a worker is found in O(1). Living links (those that are not
// down) are also in a list of their own, so that looking after peers costs nothing for peers that are gone.
//
// A link that is down stays in the table until the device is closed: the sink may keep payloads of the link
// in the peer's cells (Link::release()), and a worker that was given up has to be told from a new one.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "transport/shm/link.hpp"

namespace stria::shm {

/// Threads: the device's thread only.
class Links {
 public:
  /// The link to a worker, living or down; null: there never was one.
  Link* find(std::uint64_t worker_id) const noexcept {
    const auto found = by_worker_.find(worker_id);
    return found == by_worker_.end() ? nullptr : found->second;
  }
  /// Adds the first link to the worker `worker_id`, as a living one. Throws std::bad_alloc, and then nothing
  /// has changed.
  Link& add(std::uint64_t worker_id, std::unique_ptr<Link> made) {
    make_room(all_);
    make_room(living_);
    Link& link = *made;
    by_worker_.emplace(worker_id, &link);
    link.peer().worker_id = worker_id;
    link.place = living();
    living_.push_back(size());
    all_.push_back(std::move(made));
    return link;
  }
  /// Removes a link that is down for good from the living links: the last living link takes its place in the
  /// list.
  void went_down(Link& link) noexcept {
    const std::uint32_t last = living_.back();
    living_[link.place] = last;
    all_[last]->place = link.place;
    living_.pop_back();
  }
  /// The living links are living(0) to living(living() - 1), in no order. A walk over them meets a link that
  /// is added during the walk. When the link at a place goes down, the walk has to look at this place again.
  std::uint32_t living() const noexcept { return static_cast<std::uint32_t>(living_.size()); }
  Link& living(std::uint32_t place) const noexcept { return *all_[living_[place]]; }
  /// How many links were ever added; this is the number of the next link.
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(all_.size()); }

  /// Adds link `number`, which went down while its peer still runs, to the list of refused links.
  void refused(std::uint32_t number) noexcept {
    all_[number]->place = first_refused_;
    first_refused_ = number + 1;
  }
  /// Removes the links for which f(Link&) is true from the list of refused links.
  template <class F>
  void forget_refused(F&& f) {
    for (std::uint32_t* at = &first_refused_; *at != 0;) {
      Link& link = *all_[*at - 1];
      if (f(link))
        *at = link.place;
      else
        at = &link.place;
    }
  }

 private:
  /// Makes room for one more element of `list`.
  template <class T>
  static void make_room(std::vector<T>& list) {
    if (list.size() == list.capacity()) list.reserve(2 * list.size() + 8);
  }

  std::vector<std::unique_ptr<Link>> all_;  // by number
  std::vector<std::uint32_t> living_;       // numbers of living links
  std::unordered_map<std::uint64_t, Link*> by_worker_;
  std::uint32_t first_refused_ = 0;  // number + 1 of the first refused link; its `place`: the next
};

}  // namespace stria::shm
