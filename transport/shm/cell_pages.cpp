#include "transport/shm/cell_pages.hpp"

namespace stria::shm {

void CellPages::have_pages_of_part(const SegmentView& segment, std::uint32_t i, bool whole,
                                   Pages how) noexcept {
  const Shape& shape = segment.shape();
  const std::uint32_t bytes = bytes_of_cell(shape, i);
  const CellRange part = segment.cells_like(i);
  std::size_t left = kMostPages;
  for (std::uint32_t cell = part.begin; cell != part.end && left >= bytes; ++cell, left -= bytes) {
    have_pages({segment.cell(cell), whole ? bytes : bytes / 2}, how);
    have_pages({reinterpret_cast<std::byte*>(&segment.cell_growth(cell)), kLine}, how);
  }
}

}  // namespace stria::shm
