// The sender's cells: where buffered messages are packed, in its own segment. The receiver reads a cell in
// place and stores 0 in its state word; that store is all that comes back.
//
// The sender learns of freed cells by looking at the states of those it sent, oldest first, a few at a time
// and only every few messages: states of neighbouring cells share a line, so one transfer tells of several.
// Freed cells are used again first in, first out. A stream of fragments so goes round through more memory
// than a second-level cache holds: what the receiver read has left its cache when it is written again, and a
// store need not wait until the line is taken away there. (1 MiB between two near cores: 42 us; last in,
// first out: 118 us.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "transport/shm/segment.hpp"

namespace stria::shm {

/// Private memory of the sender, one thread. `owner` is a number that stands for a link.
class CellPool {
 public:
  CellPool() = default;
  explicit CellPool(const SegmentView& segment)
      : segment_(segment),
        links_(segment.shape().cells, Links{}),
        share_(std::max(1u, segment.shape().cells / 2)) {
    free_.resize(segment.shape().cells);
    std::iota(free_.begin(), free_.end(), 0u);
    free_count_ = segment.shape().cells;
  }

  /// A cell for `owner`, of which *out are under way; kNone: none is free, or the owner has its share (half
  /// of all, so that one peer that stands still cannot stop the others).
  std::uint32_t take(std::uint32_t owner, std::uint32_t* out) noexcept {
    if (++since_harvest_ >= kHarvestEvery || free_count_ == 0 || *out >= share_) [[unlikely]]
      harvest();
    if (free_count_ == 0 || *out >= share_) return kNone;
    const std::uint32_t cell = free_[free_first_];
    if (++free_first_ == free_.size()) free_first_ = 0;
    --free_count_;
    ++*out;
    links_[cell].owner = owner;
    links_[cell].out = out;
    segment_.cell_state(cell).store(
        1, std::memory_order_relaxed);  // the record that names the cell is a release
    append(cell);
    return cell;
  }
  /// Gives back a cell that no record names.
  void cancel(std::uint32_t cell) noexcept {
    segment_.cell_state(cell).store(0, std::memory_order_relaxed);
    remove(cell);
    give_back(cell);
  }
  /// Takes back the cells the receivers freed. Looks at the kHarvestDepth oldest; what is still in use goes
  /// to the end of the line, so that later looks reach the others.
  void harvest() noexcept {
    since_harvest_ = 0;
    const std::uint32_t looks = std::min(busy_, kHarvestDepth);
    for (std::uint32_t i = 0; i < looks; ++i) {
      const std::uint32_t cell = first_;
      remove(cell);
      // Acquire: the receiver has read the cell.
      if (segment_.cell_state(cell).load(std::memory_order_acquire) == 0)
        give_back(cell);
      else
        append(cell);
    }
  }
  /// The owner's peer is gone: all its cells are free.
  void reclaim(std::uint32_t owner) noexcept {
    for (std::uint32_t left = busy_; left > 0; --left) {
      const std::uint32_t cell = first_;
      remove(cell);
      if (links_[cell].owner == owner) {
        segment_.cell_state(cell).store(0, std::memory_order_relaxed);
        give_back(cell);
      } else {
        append(cell);
      }
    }
  }
  std::uint32_t busy() const noexcept { return busy_; }

 private:
  static constexpr std::uint32_t kHarvestEvery = 4;
  static constexpr std::uint32_t kHarvestDepth = 16;
  struct Links {
    std::uint32_t next = kNone;
    std::uint32_t previous = kNone;
    std::uint32_t owner = kNone;
    std::uint32_t* out = nullptr;
  };

  void give_back(std::uint32_t cell) noexcept {
    --*links_[cell].out;
    std::size_t at = free_first_ + free_count_++;
    if (at >= free_.size()) at -= free_.size();
    free_[at] = cell;
  }
  void append(std::uint32_t cell) noexcept {
    links_[cell].next = kNone;
    links_[cell].previous = last_;
    (last_ == kNone ? first_ : links_[last_].next) = cell;
    last_ = cell;
    ++busy_;
  }
  void remove(std::uint32_t cell) noexcept {
    const Links& at = links_[cell];
    (at.previous == kNone ? first_ : links_[at.previous].next) = at.next;
    (at.next == kNone ? last_ : links_[at.next].previous) = at.previous;
    --busy_;
  }

  SegmentView segment_{};
  std::vector<Links> links_;
  std::vector<std::uint32_t> free_;  // a ring with room for all
  std::size_t free_first_ = 0, free_count_ = 0;
  std::uint32_t first_ = kNone, last_ = kNone, busy_ = 0;
  std::uint32_t share_ = 0;
  std::uint32_t since_harvest_ = 0;
};

}  // namespace stria::shm
