#include "transport/shm/cell_pages.hpp"

namespace stria::shm {
namespace {

void have_pages_of(const SegmentView& segment, CellRange cells, bool whole, Pages how) noexcept {
  const std::uint32_t bytes = bytes_of_cell(segment.shape(), cells.begin);
  std::size_t left = kMostPages;
  for (std::uint32_t i = cells.begin; i != cells.end && left >= bytes; ++i, left -= bytes) {
    have_pages({segment.cell(i), whole ? bytes : bytes / 2}, how);
    have_pages({reinterpret_cast<std::byte*>(&segment.cell_growth(i)), kLine}, how);
  }
}

}  // namespace

void CellPages::count(const SegmentView& segment, std::uint32_t i, std::uint32_t end, Pages how) noexcept {
  const std::uint32_t bytes = bytes_of_cell(segment.shape(), i);
  const bool whole = end > bytes / 2;
  Part& part = segment.is_first_cell(i) ? first_ : others_;
  std::uint8_t& uses = whole ? part.whole : part.lower_halves;
  if (uses == kUsesBeforePages || ++uses < kUsesBeforePages) return;
  if (whole) part.lower_halves = kUsesBeforePages;  // they come with it
  have_pages_of(segment, segment.cells_like(i), whole, how);

  // What is settled is one rectangle: the others count only together with the first ones.
  if (first_.lower_halves < kUsesBeforePages) return;
  const Shape& shape = segment.shape();
  const bool of_all = others_.lower_halves == kUsesBeforePages;
  const bool all_whole = first_.whole == kUsesBeforePages && (!of_all || others_.whole == kUsesBeforePages);
  settled_cells_ = !of_all                  ? segment.cells_like(i).end
                   : is_long_cell(shape, i) ? all_cells(shape)
                                            : shape.cells;
  settled_bytes_ = all_whole ? bytes : bytes / 2;
}

}  // namespace stria::shm
