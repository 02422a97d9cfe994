// Decides when cells get their pages. A round of cells (cells.hpp) fits one huge page. A kernel that
// gives a huge page on demand (6.1 and later) mostly does so in less time than ordinary pages take, and a
// receiver maps it by one fault; but it takes much longer while other cores are busy, because the kernel
// waits for each core. So ordinary cells get their huge page before the first message, and long cells, which
// many programs never need, once they are used (STRIA_SHM_HUGE_PAGES; docs/notebook/shm.md has the figures).
//
// Before the huge page, and where there is none, pages come as they are needed. A page costs a fault of the
// sender that first writes it, and another one of the receiver that first reads it, far more than the
// message itself. So a cell gets its pages in one call when a payload that is not short first uses it: the
// lower half of its pages, or all of them. Programs that send few messages, or short ones, need little
// memory, because the ring of cells is small at first.
//
// Sender and receiver each count payloads in a CellPages of their own: a receiver sees only cells that the
// sender has used, so the pages that it maps exist.
#pragma once

#include <array>
#include <cstdint>

#include "transport/shm/segment.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kFewPages = 1024;     // bytes: payloads so short are not counted
inline constexpr std::size_t kMostPages = 8u << 20;  // bytes of pages that one call of used() may populate

/// The pages of the cells of one size, as one process sees them. One thread.
class CellPages {
 public:
  /// Makes sure that the pages are there for a payload of more than kFewPages bytes in cell `i`, which ends
  /// `end` bytes behind the beginning of the cell. To be called for each such payload.
  void used(const SegmentView& segment, std::uint32_t i, std::uint32_t end, Pages how) noexcept {
    if (i >= settled_[end > half_ ? kWhole : kLowerHalf]) [[unlikely]]
      count(segment, i, end, how);
  }
  /// Called by the sender: asks the kernel for one huge page that holds `cells` cells from cell `first` on.
  /// False: there is none.
  [[gnu::cold, gnu::noinline]] bool become_huge(const SegmentView& segment, std::uint32_t first,
                                                std::uint32_t cells) noexcept;

 private:
  enum : std::size_t { kLowerHalf, kWhole };

  [[gnu::cold, gnu::noinline]] void count(const SegmentView& segment, std::uint32_t i, std::uint32_t end,
                                          Pages how) noexcept;

  // By kLowerHalf and kWhole: the cells before this number have the pages of that part.
  std::array<std::uint32_t, 2> settled_{};
  std::uint32_t half_ = 0;  // bytes of half a cell; 0 until the first call of used()
};

}  // namespace stria::shm
