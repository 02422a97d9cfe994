#include "tag/unexpected_queue.hpp"

#include <new>

namespace stria::tag {

UnexpectedQueue::UnexpectedQueue() : bins_(std::make_unique<Bin[]>(kFirstBins)) {}

bool UnexpectedQueue::grow_pool() noexcept {
  try {
    const auto first = static_cast<std::uint32_t>(chunks_.size()) << kChunkLog2;
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

Unexpected* UnexpectedQueue::allocate() noexcept {
  if (free_ == kNone && !grow_pool()) return nullptr;
  Unexpected& entry = at(free_);
  free_ = entry.all_next;
  return &entry;
}

void UnexpectedQueue::release(Unexpected* entry) noexcept {
  entry->all_next = free_;
  free_ = entry->self;
}

void UnexpectedQueue::append_to_bin(Unexpected& entry) noexcept {
  Bin& bin = bin_of(entry);
  entry.bin_next = kNone;
  entry.bin_prev = bin.tail;
  (bin.tail == kNone ? bin.head : at(bin.tail).bin_next) = entry.self;
  bin.tail = entry.self;
}

void UnexpectedQueue::grow_bins() noexcept {
  const std::uint32_t bins = 4 * (mask_ + 1);
  std::unique_ptr<Bin[]> larger(new (std::nothrow) Bin[bins]);
  if (larger == nullptr) return;  // stay: longer bins are slower, not wrong
  bins_ = std::move(larger);
  mask_ = bins - 1;
  for (std::uint32_t i = head_; i != kNone; i = at(i).all_next) append_to_bin(at(i));
}

void UnexpectedQueue::push(Unexpected* entry) noexcept {
  if (size_ > 2ull * mask_) grow_bins();
  entry->all_next = kNone;
  entry->all_prev = tail_;
  (tail_ == kNone ? head_ : at(tail_).all_next) = entry->self;
  tail_ = entry->self;
  append_to_bin(*entry);
  ++size_;
}

void UnexpectedQueue::remove(Unexpected* entry) noexcept {
  Bin& bin = bin_of(*entry);
  (entry->bin_prev == kNone ? bin.head : at(entry->bin_prev).bin_next) = entry->bin_next;
  (entry->bin_next == kNone ? bin.tail : at(entry->bin_next).bin_prev) = entry->bin_prev;
  (entry->all_prev == kNone ? head_ : at(entry->all_prev).all_next) = entry->all_next;
  (entry->all_next == kNone ? tail_ : at(entry->all_next).all_prev) = entry->all_prev;
  --size_;
}

Unexpected* UnexpectedQueue::find(std::uint32_t source, std::uint64_t tag, std::uint64_t ignore) noexcept {
  if (size_ == 0) return nullptr;
  if (source != kAnySource && ignore == 0) {
    for (std::uint32_t i = bins_[match_hash(source, tag) & mask_].head; i != kNone; i = at(i).bin_next)
      if (at(i).source == source && at(i).tag == tag) return &at(i);
    return nullptr;
  }
  for (std::uint32_t i = head_; i != kNone; i = at(i).all_next) {
    const Unexpected& entry = at(i);
    if (((entry.tag ^ tag) & ~ignore) == 0 && (source == kAnySource || entry.source == source)) return &at(i);
  }
  return nullptr;
}

}  // namespace stria::tag
