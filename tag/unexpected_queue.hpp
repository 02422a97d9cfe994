// The unexpected queue: messages that came before their receive. Every entry lies in a table for receives
// that name source and tag, and in the list of arrival for all others, which walk that list while it is short
// and have an index made for them when it is not.
#pragma once

#include <array>
#include <cstdint>

#include "tag/match_table.hpp"
#include "tag/unexpected_pool.hpp"
#include "tag/wildcard_index.hpp"

namespace stria::tag {

/// Threads: the worker's lock. Entries keep their address while they are in use.
class UnexpectedQueue {
 public:
  UnexpectedQueue();

  /// An entry that is in no list; null when memory is out.
  Unexpected* allocate() noexcept { return pool_.allocate(); }
  void release(Unexpected* entry) noexcept { pool_.release(entry); }
  /// Appends an entry whose tag and source are set.
  void push(Unexpected* entry) noexcept;
  /// Takes what find() found out of the lists; it stays allocated.
  void remove(Unexpected* entry) noexcept;
  /// The same for a matched probe: until let_go() the entry is remembered, so that none is lost with the
  /// queue.
  void set_aside(Unexpected* entry) noexcept;
  void let_go(Unexpected* entry) noexcept;
  /// Whether the entry is one of this queue's. It may be another queue's.
  bool has(const Unexpected& entry) const noexcept {
    return entry.self < pool_.end() && &pool_.at(entry.self) == &entry;
  }
  /// One that was set aside, or null.
  Unexpected* first_aside() noexcept { return aside_ == kNone ? nullptr : &pool_.at(aside_); }
  /// The first in order of arrival that a receive (source may be kAnySource) accepts, or null. O(1) expected,
  /// but for the first of many that ignore something in a deep queue.
  Unexpected* find(std::uint32_t source, std::uint64_t tag, std::uint64_t ignore) noexcept {
    if (size_ == 0) return nullptr;
    if (source == kAnySource || ignore != 0) return find_wildcard(source, tag, ignore);
    const std::uint32_t found = exact_.oldest(items(), {source, tag});
    return found == kNone ? nullptr : &pool_.at(found);
  }
  /// The same, taken out of the lists as by remove().
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
  /// The oldest of all, or null.
  Unexpected* first() noexcept { return head_ == kNone ? nullptr : &pool_.at(head_); }
  std::uint64_t size() const noexcept { return size_; }
  /// Takes out every entry for which f(Unexpected&) is true; f may release it.
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
  /// So many messages are looked at before an index is made.
  static constexpr unsigned kLongWalk = 8;
  /// An index that nobody asked for during so many messages, and as many as there are, is given up.
  static constexpr std::uint64_t kUnused = 4096;

  struct Items {
    using Ref = std::uint32_t;
    static constexpr Ref kNone = Unexpected::kNone;
    static constexpr bool kHasPrev = false;  // find() answers the oldest of its key

    const UnexpectedPool* pool;

    Ref& next(Ref ref) const noexcept { return pool->at(ref).next; }
    Ref& chain(Ref ref) const noexcept { return pool->at(ref).chain; }
    MatchKey key_of(Ref ref) const noexcept { return {pool->at(ref).source, pool->at(ref).tag}; }
    bool has_key(Ref ref, const MatchKey& key) const noexcept { return key_of(ref) == key; }
  };
  Items items() const noexcept { return {&pool_}; }
  Unexpected* find_wildcard(std::uint32_t source, std::uint64_t tag, std::uint64_t ignore) noexcept;
  /// Out of the list of arrival and the indexes.
  void unlink(const Unexpected& entry) noexcept {
    (entry.all_prev == kNone ? head_ : pool_.at(entry.all_prev).all_next) = entry.all_next;
    (entry.all_next == kNone ? tail_ : pool_.at(entry.all_next).all_prev) = entry.all_prev;
    --size_;
    if (indexed_) [[unlikely]]
      unlink_from_indexes(entry);
  }
  [[gnu::noinline]] void unlink_from_indexes(const Unexpected& entry) noexcept;
  WildcardIndex* make_index(bool any_source, std::uint64_t ignore) noexcept;
  void push_to_indexes(const Unexpected& entry) noexcept;
  void stop_indexes() noexcept;

  UnexpectedPool pool_;
  MatchTable<Items> exact_;
  std::array<WildcardIndex, 3> indexes_;  // MPI's: any source, any tag, both
  bool indexed_ = false;                  // some of them are active
  std::uint32_t head_ = kNone;
  std::uint32_t tail_ = kNone;
  std::uint32_t aside_ = kNone;  // by all_next and all_prev, too
  std::uint64_t size_ = 0;
};

}  // namespace stria::tag
