#include "transport/shm/cell_pages.hpp"

#include <algorithm>

namespace stria::shm {
namespace {

/// Populates the pages of the first `bytes` bytes of cells [begin, end), and of their growth words. Stops
/// before it populates more than kMostPages bytes.
void populate_cells(const SegmentView& segment, std::uint32_t begin, std::uint32_t end, std::uint32_t bytes,
                    Pages how) noexcept {
  std::size_t left = kMostPages;
  for (std::uint32_t i = begin; i < end && left >= bytes; ++i, left -= bytes) {
    populate_pages({segment.cell(i), bytes}, how);
    populate_pages({reinterpret_cast<std::byte*>(&segment.cell_growth(i)), kLine}, how);
  }
}

/// The bit in SegmentHeader::huge for one cell size, which is named by `first`, the number of its first cell.
constexpr std::uint32_t huge_bit(std::uint32_t first) noexcept {
  return first == 0 ? kHugeCells : kHugeLongCells;
}

}  // namespace

/// Populates the pages that the cells up to and including `i` lack, as a payload uses cell `i` up to byte
/// `end`: the lower half of each cell, or all of it. Where the first round of cells is one huge page, it
/// touches only the cell, to map the page.
void CellPages::count(const SegmentView& segment, std::uint32_t i, std::uint32_t end, Pages how) noexcept {
  const Shape& shape = segment.shape();
  const std::uint32_t begin = is_long_cell(shape, i) ? shape.cells : 0;
  const std::uint32_t bytes = bytes_of_cell(shape, i);
  half_ = bytes / 2;
  const std::uint32_t round = round_of(begin == 0 ? shape.cells : shape.long_cells, bytes);
  if (i < begin + round && (segment.header().huge.load(std::memory_order_relaxed) & huge_bit(begin)) != 0) {
    for (std::uint32_t& settled : settled_) settled = std::max(settled, begin + round);
    return populate_pages({segment.cell(i), 1}, how);
  }
  const std::size_t part = end > half_ ? kWhole : kLowerHalf;
  std::uint32_t& settled = settled_[part];
  const std::uint32_t first_without = std::max(settled, begin);
  settled = i + 1;
  populate_cells(segment, first_without, settled, part == kWhole ? bytes : half_, how);
  settled_[kLowerHalf] = std::max(settled_[kLowerHalf], settled_[kWhole]);
}

bool CellPages::become_huge(const SegmentView& segment, std::uint32_t first, std::uint32_t cells) noexcept {
  const std::size_t bytes = cells * cell_distance(bytes_of_cell(segment.shape(), first));
  std::byte* const begin = segment.cell(first);
  if (bytes > kHugePage || begin + kHugePage > segment.end() || !make_huge_page({begin, kHugePage}))
    return false;
  settled_.fill(first + cells);
  segment.header().huge.fetch_or(huge_bit(first), std::memory_order_relaxed);
  return true;
}

}  // namespace stria::shm
