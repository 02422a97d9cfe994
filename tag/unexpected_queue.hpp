// UnexpectedQueue: messages that came before their receive. Every entry lies in a hash table, for receives
// that name source and tag, and in a list in order of arrival, for all other receives. These walk the list
// while it is short, and have an index made for them when it is long (unexpected_index.hpp).
#pragma once

#include <array>
#include <cstdint>

#include "tag/match_table.hpp"
#include "tag/unexpected_index.hpp"
#include "tag/unexpected_pool.hpp"

namespace stria::tag {

/// Threads: called with the worker's lock held. Entries keep their address while they are in use.
class UnexpectedQueue {
 public:
  UnexpectedQueue();

  /// An entry that is in no list; null when memory is out.
  Unexpected* allocate() noexcept { return pool_.allocate(); }
  void release(Unexpected* entry) noexcept { pool_.release(entry); }
  /// Appends an entry whose tag and source are set.
  void push(Unexpected* entry) noexcept;
  /// Removes an entry that find() returned; it stays allocated.
  void remove(Unexpected* entry) noexcept;
  /// Removes an entry that find() returned, for a matched probe. Until let_go() the queue remembers the
  /// entry, so that it is not lost when the queue ends.
  void set_aside(Unexpected* entry) noexcept;
  /// Forgets an entry that was set aside; it stays allocated.
  void let_go(Unexpected* entry) noexcept;
  /// Whether the entry belongs to this queue, and not to another one.
  bool has(const Unexpected& entry) const noexcept {
    return entry.self < pool_.end() && &pool_.at(entry.self) == &entry;
  }
  /// An entry that was set aside, or null.
  Unexpected* first_aside() noexcept { return aside_ == kNone ? nullptr : &pool_.at(aside_); }
  /// The first entry in order of arrival that a receive (source may be kAnySource) accepts, or null. O(1)
  /// expected, except for the first of many receives on a deep queue that ignore the source or bits of the
  /// tag.
  Unexpected* find(std::uint32_t source, std::uint64_t tag, std::uint64_t ignore) noexcept {
    if (size_ == 0) return nullptr;
    if (source == kAnySource || ignore != 0) return find_wildcard(source, tag, ignore);
    const std::uint32_t found = exact_.oldest(items(), {source, tag});
    return found == kNone ? nullptr : &pool_.at(found);
  }
  /// Removes and returns the entry that find() would return, or null; it stays allocated.
  Unexpected* take(std::uint32_t source, std::uint64_t tag, std::uint64_t ignore) noexcept {
    if (size_ == 0) return nullptr;
    if (source == kAnySource || ignore != 0) [[unlikely]] {
      Unexpected* const entry = find_wildcard(source, tag, ignore);
      if (entry != nullptr) remove(entry);
      return entry;
    }
    const std::uint32_t taken = exact_.take(items(), {source, tag});
    if (taken == kNone) return nullptr;
    Unexpected& entry = pool_.at(taken);
    unlink(entry);
    return &entry;
  }
  /// The oldest entry of all, or null.
  Unexpected* first() noexcept { return head_ == kNone ? nullptr : &pool_.at(head_); }
  std::uint64_t size() const noexcept { return size_; }
  /// Removes every entry for which f(Unexpected&) is true; f may release it.
  template <class F>
  void remove_if(F&& f) noexcept {
    if (size_ == 0) return;
    stop_indexes();
    exact_.remove_if(items(), [&](std::uint32_t number) {
      Unexpected& entry = pool_.at(number);
      const std::uint32_t next = entry.all_next;
      const std::uint32_t prev = entry.all_prev;
      if (!f(entry)) return false;
      (prev == kNone ? head_ : pool_.at(prev).all_next) = next;
      (next == kNone ? tail_ : pool_.at(next).all_prev) = prev;
      --size_;
      return true;
    });
  }

 private:
  static constexpr std::uint32_t kNone = Unexpected::kNone;
  /// Entries that one receive looks at before an index is made for its shape.
  static constexpr unsigned kLongWalk = 8;
  /// An index is given up when, since it was last used, more messages than this came, and more than are
  /// there.
  static constexpr std::uint64_t kUnused = 4096;

  struct Items {
    using Ref = std::uint32_t;
    static constexpr Ref kNone = Unexpected::kNone;
    static constexpr bool kHasPrev = false;  // find() answers the oldest of its key, and only that is removed

    const UnexpectedPool* pool;

    Ref& next(Ref ref) const noexcept { return pool->at(ref).next; }
    Ref& chain(Ref ref) const noexcept { return pool->at(ref).chain; }
    MatchKey key_of(Ref ref) const noexcept { return {pool->at(ref).source, pool->at(ref).tag}; }
    bool has_key(Ref ref, const MatchKey& key) const noexcept { return key_of(ref) == key; }
  };
  Items items() const noexcept { return {&pool_}; }
  Unexpected* find_wildcard(std::uint32_t source, std::uint64_t tag, std::uint64_t ignore) noexcept;
  /// Removes the entry from the list in order of arrival and from the indexes.
  void unlink(const Unexpected& entry) noexcept {
    (entry.all_prev == kNone ? head_ : pool_.at(entry.all_prev).all_next) = entry.all_next;
    (entry.all_next == kNone ? tail_ : pool_.at(entry.all_next).all_prev) = entry.all_prev;
    --size_;
    if (indexed_) [[unlikely]]
      unlink_from_indexes(entry);
  }
  [[gnu::noinline]] void unlink_from_indexes(const Unexpected& entry) noexcept;
  UnexpectedIndex* make_index(bool any_source, std::uint64_t ignore) noexcept;
  void push_to_indexes(const Unexpected& entry) noexcept;
  void stop_indexes() noexcept;

  UnexpectedPool pool_;
  MatchTable<Items> exact_;
  std::array<UnexpectedIndex, 3> indexes_;  // MPI's: any source, any tag, both
  bool indexed_ = false;                    // some of indexes_ are active
  std::uint32_t head_ = kNone;
  std::uint32_t tail_ = kNone;
  std::uint32_t aside_ = kNone;  // the last entry set aside; these entries, too, use all_next and all_prev
  std::uint64_t size_ = 0;
};

}  // namespace stria::tag
