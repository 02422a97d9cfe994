// The links of a device. The link to a worker is found in O(1), and the links that are not down are in a list
// of their own, so that looking after peers costs nothing for those that are gone.
//
// A link that is down stays in the table until the device goes: payloads of it may be kept in the peer's
// cells (release() names the link), and a worker that was given up is told apart from one that is new.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transport/shm/link.hpp"

namespace stria::shm {

/// Threads: the device's.
class Links {
 public:
  /// The link to a worker, up or down; null: there never was one.
  Link* find(std::uint64_t worker_id) const noexcept {
    if (slots_.empty()) return nullptr;
    const std::uint32_t found = slots_[slot_of(worker_id)];
    return found == 0 ? nullptr : all_[found - 1].get();
  }
  /// Takes the first link to the worker that it names. Throws bad_alloc, and then nothing changed.
  Link& add(std::uint64_t worker_id, std::unique_ptr<Link> made) {
    make_room(all_);
    make_room(living_);
    if (std::size_t{size()} * 4 >= slots_.size() * 3) grow();
    Link& link = *made;
    link.peer().worker_id = worker_id;
    slots_[slot_of(worker_id)] = size() + 1;
    link.place = living();
    living_.push_back(size());
    all_.push_back(std::move(made));
    return link;
  }
  /// The link is down, for good: the last of the living takes its place.
  void went_down(Link& link) noexcept {
    const std::uint32_t last = living_.back();
    living_[link.place] = last;
    all_[last]->place = link.place;
    living_.pop_back();
  }
  /// Those that are not down are living(0) to living(living() - 1), in no order. One that is added during a
  /// walk is met by it; the place of one that goes down during a walk has to be looked at again.
  std::uint32_t living() const noexcept { return static_cast<std::uint32_t>(living_.size()); }
  Link& living(std::uint32_t place) const noexcept { return *all_[living_[place]]; }
  /// How many there ever were; the number of the next.
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(all_.size()); }

  /// Remembers the link `number`, which went down while its peer goes on.
  void refused(std::uint32_t number) noexcept {
    all_[number]->place = first_refused_;
    first_refused_ = number + 1;
  }
  /// Forgets those of them for which f(Link&) is true.
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
  static constexpr std::size_t kFirstSlots = 16;

  /// For one more element.
  template <class T>
  static void make_room(std::vector<T>& list) {
    if (list.size() == list.capacity()) list.reserve(2 * list.size() + 8);
  }
  /// Where the worker is, or would be. Ids are random, but a peer chose its own: hence the multiplication.
  std::size_t slot_of(std::uint64_t worker_id) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>((worker_id * 0x9e3779b97f4a7c15u) >> 32) & mask;
    while (slots_[at] != 0 && all_[slots_[at] - 1]->peer().worker_id != worker_id) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    slots_ = std::vector<std::uint32_t>(slots_.empty() ? kFirstSlots : 2 * slots_.size());
    for (std::uint32_t i = 0; i < size(); ++i) slots_[slot_of(all_[i]->peer().worker_id)] = i + 1;
  }

  std::vector<std::unique_ptr<Link>> all_;  // by number
  std::vector<std::uint32_t> living_;       // numbers
  std::vector<std::uint32_t> slots_;        // number + 1, or 0; open addressing, at most three quarters full
  std::uint32_t first_refused_ = 0;         // number + 1; its place is the next one
};

}  // namespace stria::shm
