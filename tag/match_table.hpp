// MatchTable: a hash table of queues, one for each key, of items that wait for a match. Each queue is first
// in, first out.
//
//   bin --chain--> youngest of key A --chain--> youngest of key B
//                     | next
//                     v
//                  oldest of key A --next--> ... --next--> youngest of key A
//
// The items of a key form a ring, and the chain of the bin leads to the youngest of them. So to append an
// item, or to take the oldest, touches only the bin, the youngest and the item itself, however many items
// wait, and a key for which many wait is no burden to the other keys of its bin. Nothing is allocated for an
// item: it carries its links.
//
// The parameter Items says where the links of an item are:
//   Ref, kNone           what names an item, and what names none
//   next(ref), chain(ref)  references to the item's links
//   kHasPrev, prev(ref)  whether there is a third link, and a reference to it: only where items are removed
//                        that are not the oldest of their key
//   has_key(ref, key), key_of(ref)
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "tag/match_hash.hpp"

namespace stria::tag {

/// Threads: the owner allows one call at a time. Every call must pass the same Items.
template <class Items>
class MatchTable {
 public:
  using Ref = typename Items::Ref;
  static constexpr Ref kNone = Items::kNone;
  static constexpr std::uint32_t kFirstBins = 64;

  /// Makes the bins; false: memory is out. Nothing else may be called before.
  bool open() noexcept {
    if (bins_ == nullptr) bins_ = make_bins(kFirstBins);
    return bins_ != nullptr;
  }
  bool is_open() const noexcept { return bins_ != nullptr; }

  /// Appends an item as the youngest of its key.
  void push(const Items& items, Ref item, const MatchKey& key) noexcept {
    Ref* link = find(items, key);
    const Ref youngest = *link;
    if (youngest == kNone) {
      if (queues_ > mask_) [[unlikely]] {
        grow(items);
        link = find(items, key);
      }
      items.next(item) = item;
      items.chain(item) = kNone;
      ++queues_;
    } else {
      items.next(item) = items.next(youngest);
      items.next(youngest) = item;
      items.chain(item) = items.chain(youngest);
      if constexpr (kHasPrev) items.prev(item) = youngest;
    }
    *link = item;
  }
  /// Puts an item that take() returned back as the oldest of its key.
  void put_back(const Items& items, Ref item, const MatchKey& key) noexcept requires Items::kHasPrev {
    const Ref youngest = *find(items, key);
    if (youngest == kNone) {
      push(items, item, key);
      return;
    }
    const Ref oldest = items.next(youngest);
    items.next(item) = oldest;
    items.prev(oldest) = item;
    items.next(youngest) = item;
  }
  /// The oldest item of the key, or kNone.
  Ref oldest(const Items& items, const MatchKey& key) noexcept {
    const Ref youngest = *find(items, key);
    return youngest == kNone ? kNone : items.next(youngest);
  }
  /// Removes and returns the oldest item of the key, or kNone.
  Ref take(const Items& items, const MatchKey& key) noexcept {
    Ref* const link = find(items, key);
    const Ref youngest = *link;
    return youngest == kNone ? kNone : unlink_oldest(items, link, youngest);
  }
  /// Removes an item, whose key is `key`.
  void remove(const Items& items, Ref item, const MatchKey& key) noexcept requires Items::kHasPrev {
    Ref* const link = find(items, key);
    const Ref youngest = *link;
    if (items.next(youngest) == item) {
      unlink_oldest(items, link, youngest);
      return;
    }
    const Ref older = items.prev(item);
    items.next(older) = items.next(item);
    if (item == youngest) {
      items.chain(older) = items.chain(item);
      *link = older;
    } else {
      items.prev(items.next(item)) = older;
    }
  }
  /// Removes every item for which f(Ref) is true. f is called on each item, the oldest of a key first, and
  /// must change nothing in the table.
  template <class F>
  void remove_if(const Items& items, F&& f) noexcept {
    if (queues_ == 0) return;
    for (std::uint32_t i = 0; i <= mask_; ++i) {
      Ref* link = &bins_[i];
      while (*link != kNone) {
        const Ref youngest = keep(items, *link, f);
        if (youngest == kNone) {
          *link = items.chain(*link);
          --queues_;
        } else {
          items.chain(youngest) = items.chain(*link);
          *link = youngest;
          link = &items.chain(youngest);
        }
      }
    }
  }
  /// Forgets every item; the bins stay.
  void clear() noexcept {
    if (queues_ == 0) return;
    for (std::uint32_t i = 0; i <= mask_; ++i) bins_[i] = kNone;
    queues_ = 0;
  }

 private:
  static constexpr bool kHasPrev = Items::kHasPrev;

  static std::unique_ptr<Ref[]> make_bins(std::uint32_t count) noexcept {
    std::unique_ptr<Ref[]> bins(new (std::nothrow) Ref[count]);
    for (std::uint32_t i = 0; bins != nullptr && i < count; ++i) bins[i] = kNone;
    return bins;
  }
  /// The link that leads to the youngest item of the key, or would lead to it.
  Ref* find(const Items& items, const MatchKey& key) noexcept {
    Ref* link = &bins_[match_hash(key) & mask_];
    while (*link != kNone && !items.has_key(*link, key)) link = &items.chain(*link);
    return link;
  }
  Ref unlink_oldest(const Items& items, Ref* link, Ref youngest) noexcept {
    const Ref oldest = items.next(youngest);
    if (oldest == youngest) {
      *link = items.chain(youngest);
      --queues_;
    } else {
      items.next(youngest) = items.next(oldest);
    }
    return oldest;
  }
  /// Builds the ring of one key anew from the items for which f is false. Returns the youngest of these, or
  /// kNone.
  template <class F>
  static Ref keep(const Items& items, Ref youngest, F& f) noexcept {
    Ref first = kNone;
    Ref last = kNone;
    const Ref oldest = items.next(youngest);
    for (Ref item = oldest;;) {
      const Ref next = items.next(item);
      const bool is_youngest = item == youngest;
      if (!f(item)) {
        if (last == kNone) {
          first = item;
        } else {
          items.next(last) = item;
          if constexpr (kHasPrev) items.prev(item) = last;
        }
        last = item;
      }
      if (is_youngest) break;
      item = next;
    }
    if (last != kNone) items.next(last) = first;
    return last;
  }
  [[gnu::noinline]] void grow(const Items& items) noexcept {
    const std::uint32_t count = 4 * (mask_ + 1);
    std::unique_ptr<Ref[]> larger = make_bins(count);
    if (larger == nullptr) return;  // the old bins stay: longer chains are slower, not wrong
    const std::unique_ptr<Ref[]> old = std::move(bins_);
    const std::uint32_t old_mask = mask_;
    bins_ = std::move(larger);
    mask_ = count - 1;
    for (std::uint32_t i = 0; i <= old_mask; ++i) {
      for (Ref youngest = old[i]; youngest != kNone;) {
        const Ref next = items.chain(youngest);
        Ref& bin = bins_[match_hash(items.key_of(youngest)) & mask_];
        items.chain(youngest) = bin;
        bin = youngest;
        youngest = next;
      }
    }
  }

  std::unique_ptr<Ref[]> bins_;
  std::uint32_t mask_ = kFirstBins - 1;
  std::uint32_t queues_ = 0;  // keys that have items
};

}  // namespace stria::tag
