// UnexpectedIndex: a second way into a deep unexpected queue, for receives that ignore the source or bits of
// the tag. It is made when such a receive had to look at many messages, is kept up to date while it is used,
// and costs nothing before: its links lie in an array of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "tag/match_table.hpp"
#include "tag/unexpected_pool.hpp"

namespace stria::tag {

/// Threads: the queue allows one call at a time.
class UnexpectedIndex {
 public:
  bool is_active() const noexcept { return active_; }
  bool serves(bool any_source, std::uint64_t ignore) const noexcept {
    return active_ && any_source_ == any_source && ignore_ == ignore;
  }
  /// Messages that came since the index was last used.
  std::uint64_t unused_for() const noexcept { return unused_for_; }

  /// Activates the index, empty, for receives that ignore the source (any_source) and the tag's bits
  /// `ignore`. False: memory is out.
  bool start(const UnexpectedPool& pool, bool any_source, std::uint64_t ignore) noexcept;
  void stop() noexcept {
    table_.clear();
    active_ = false;
  }
  void push(const UnexpectedPool& pool, const Unexpected& entry) noexcept;
  void remove(const UnexpectedPool& pool, const Unexpected& entry) noexcept {
    table_.remove(items(pool), entry.self, items(pool).key_of(entry.self));
  }
  /// The oldest entry that a receive of this shape accepts, or null.
  Unexpected* oldest(const UnexpectedPool& pool, std::uint32_t source, std::uint64_t tag) noexcept {
    unused_for_ = 0;
    const std::uint32_t found = table_.oldest(items(pool), shape_key(source, tag, any_source_, ignore_));
    return found == Unexpected::kNone ? nullptr : &pool.at(found);
  }

 private:
  struct Links {
    std::uint32_t next, prev, chain;
  };
  struct Items {
    using Ref = std::uint32_t;
    static constexpr Ref kNone = Unexpected::kNone;
    static constexpr bool kHasPrev = true;

    const UnexpectedPool* pool;
    Links* links;
    bool any_source;
    std::uint64_t ignore;

    Ref& next(Ref ref) const noexcept { return links[ref].next; }
    Ref& prev(Ref ref) const noexcept { return links[ref].prev; }
    Ref& chain(Ref ref) const noexcept { return links[ref].chain; }
    MatchKey key_of(Ref ref) const noexcept {
      const Unexpected& entry = pool->at(ref);
      return shape_key(entry.source, entry.tag, any_source, ignore);
    }
    bool has_key(Ref ref, const MatchKey& key) const noexcept { return key_of(ref) == key; }
  };
  Items items(const UnexpectedPool& pool) noexcept { return {&pool, links_.data(), any_source_, ignore_}; }
  bool make_links(const UnexpectedPool& pool) noexcept;

  bool active_ = false;
  bool any_source_ = false;
  std::uint64_t ignore_ = 0;
  std::uint64_t unused_for_ = 0;
  std::vector<Links> links_;
  MatchTable<Items> table_;
};

}  // namespace stria::tag
