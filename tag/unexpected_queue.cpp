#include "tag/unexpected_queue.hpp"

#include <algorithm>
#include <new>

#include "base/assert.hpp"

namespace stria::tag {

bool UnexpectedPool::grow() noexcept {
  try {
    const std::uint32_t first = end();
    chunks_.push_back(std::make_unique_for_overwrite<Unexpected[]>(1u << kChunkLog2));
    for (std::uint32_t i = 1u << kChunkLog2; i-- > 0;) {
      Unexpected& entry = chunks_.back()[i];
      entry.self = first + i;
      entry.all_next = free_;
      free_ = entry.self;
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

UnexpectedQueue::UnexpectedQueue() {
  if (!exact_.open()) throw std::bad_alloc();
}

void UnexpectedQueue::push(Unexpected* entry) noexcept {
  entry->all_next = kNone;
  entry->all_prev = tail_;
  (tail_ == kNone ? head_ : pool_.at(tail_).all_next) = entry->self;
  tail_ = entry->self;
  exact_.push(items(), entry->self, {entry->source, entry->tag});
  if (indexed_) [[unlikely]]
    push_to_indexes(*entry);
  ++size_;
}

void UnexpectedQueue::remove(Unexpected* entry) noexcept {
  const std::uint32_t taken = exact_.take(items(), {entry->source, entry->tag});
  STRIA_CHECK(taken == entry->self, "what a receive finds is the oldest of its source and tag");
  unlink(*entry);
}

void UnexpectedQueue::unlink_from_indexes(const Unexpected& entry) noexcept {
  for (UnexpectedIndex& index : indexes_)
    if (index.is_active()) index.remove(pool_, entry);
  if (size_ == 0) stop_indexes();
}

void UnexpectedQueue::set_aside(Unexpected* entry) noexcept {
  remove(entry);
  entry->all_prev = kNone;
  entry->all_next = aside_;
  if (aside_ != kNone) pool_.at(aside_).all_prev = entry->self;
  aside_ = entry->self;
}

void UnexpectedQueue::let_go(Unexpected* entry) noexcept {
  (entry->all_prev == kNone ? aside_ : pool_.at(entry->all_prev).all_next) = entry->all_next;
  if (entry->all_next != kNone) pool_.at(entry->all_next).all_prev = entry->all_prev;
}

Unexpected* UnexpectedQueue::find_wildcard(std::uint32_t source, std::uint64_t tag,
                                           std::uint64_t ignore) noexcept {
  const bool any_source = source == kAnySource;
  if (indexed_) {
    for (UnexpectedIndex& index : indexes_)
      if (index.serves(any_source, ignore)) return index.oldest(pool_, source, tag);
  }
  unsigned walked = 0;
  for (std::uint32_t i = head_; i != kNone; i = pool_.at(i).all_next) {
    if (walked++ == kLongWalk) {
      UnexpectedIndex* const index = make_index(any_source, ignore);
      if (index != nullptr) return index->oldest(pool_, source, tag);
    }
    Unexpected& entry = pool_.at(i);
    if (((entry.tag ^ tag) & ~ignore) == 0 && (any_source || entry.source == source)) return &entry;
  }
  return nullptr;
}

// Makes an index for this shape of receives, in the place of an index that is free, or was not used for
// longest.
UnexpectedIndex* UnexpectedQueue::make_index(bool any_source, std::uint64_t ignore) noexcept {
  const auto rank = [](const UnexpectedIndex& index) {
    return index.is_active() ? index.unused_for() : ~0ull;
  };
  UnexpectedIndex& index = *std::max_element(
      indexes_.begin(), indexes_.end(),
      [&](const UnexpectedIndex& a, const UnexpectedIndex& b) { return rank(a) < rank(b); });
  // There are more shapes than places: the receives for which the other indexes were made a moment ago go on
  // using them.
  if (index.is_active() && index.unused_for() < size_) return nullptr;
  if (!index.start(pool_, any_source, ignore)) return nullptr;
  for (std::uint32_t i = head_; i != kNone; i = pool_.at(i).all_next) index.push(pool_, pool_.at(i));
  indexed_ = true;
  return &index;
}

void UnexpectedQueue::push_to_indexes(const Unexpected& entry) noexcept {
  indexed_ = false;
  for (UnexpectedIndex& index : indexes_) {
    if (!index.is_active()) continue;
    index.push(pool_, entry);
    if (index.unused_for() > std::max(kUnused, size_)) index.stop();
    indexed_ = indexed_ || index.is_active();
  }
}

void UnexpectedQueue::stop_indexes() noexcept {
  for (UnexpectedIndex& index : indexes_) index.stop();
  indexed_ = false;
}

}  // namespace stria::tag
