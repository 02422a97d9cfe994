// Cells in a segment of their own, and which of its pages are there.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <set>
#include <span>

#include "tests/transport/shm/inside.hpp"
#include "transport/shm/cells.hpp"

namespace stria::shm::test {

/// A segment in memory of its own.
class Pool : public testing::Test {
 protected:
  Pool() : Pool(kShape) {}
  explicit Pool(const Shape& shape, HugePages huge = HugePages::off)
      : memory_(create_segment("cells", plan(shape).bytes).value()),
        segment_(memory_.map.data(), shape),
        cells_(segment_, huge) {}

  static Shape shape() {
    Shape out;
    out.max_peers = 2, out.windows = 0, out.window_bytes = 4096, out.pio_mtu = 0, out.inbox_slots = 16;
    out.cells = 8, out.cell_bytes = 16384, out.long_cells = 4, out.long_cell_bytes = 65536, out.keys = 64;
    return out;
  }
  CellPlace take(std::uint32_t bytes) {
    CellPlace place{};
    EXPECT_TRUE(cells_.take(1, out_, bytes, place));
    return place;
  }
  /// Sends so many payloads that the ring of cells doubles until it has `cells`.
  void earn(std::uint32_t cells, std::uint32_t bytes) {
    for (std::uint32_t i = 0; i < (cells - 1) * kDoublesAfter; ++i) free(take(bytes)), cells_.harvest();
  }
  /// What a receiver does.
  void free(const CellPlace& place) { segment_.cell_state(place.cell).store(place.use); }

  inline static const Shape kShape = shape();
  SegmentMemory memory_;
  SegmentView segment_;
  Cells cells_;
  CellsOut out_{};
};

/// How many pages of `memory` there are, whoever has them.
inline std::size_t resident(std::span<std::byte> memory) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data()) & ~std::uintptr_t{4095};
  const std::size_t bytes = reinterpret_cast<std::uintptr_t>(memory.data()) + memory.size() - begin;
  std::vector<unsigned char> pages((bytes + 4095) / 4096);
  EXPECT_EQ(::mincore(reinterpret_cast<void*>(begin), bytes, pages.data()),
            0);  // NOLINT(performance-no-int-to-ptr)
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char one) { return (one & 1) != 0; }));
}

/// Six cells, of which two make a round.
class WidePool : public Pool {
 protected:
  WidePool() : Pool(wide()) {}
  static Shape wide() {
    Shape out = shape();
    out.cells = 6, out.cell_bytes = (1u << 20) - 4096, out.long_cells = 0;
    return out;
  }
  std::set<std::uint32_t> in_turn(std::uint32_t bytes, int payloads) {
    std::set<std::uint32_t> out;
    for (int i = 0; i < payloads; ++i) {
      const CellPlace place = take(bytes);
      out.insert(place.cell);
      free(place);
      cells_.harvest();
    }
    return out;
  }
  /// Of the lower or the upper half of a cell.
  std::size_t pages(std::uint32_t cell, std::uint32_t half) const {
    constexpr std::uint32_t kEdge = 8192;  // another cell's, or the word behind one
    return resident(
        {segment_.cell(cell) + std::size_t{half} * (510u << 10) + kEdge, (510u << 10) - 2 * kEdge});
  }
};

}  // namespace stria::shm::test
