// The pool of cells by itself: which cell a payload gets, where in it, and when it has its pages.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <set>
#include <span>

#include "tests/transport/shm/inside.hpp"
#include "transport/shm/cells.hpp"

namespace stria::shm::test {
namespace {

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
  /// What a receiver does.
  void free(const CellPlace& place) { segment_.cell_state(place.cell).store(place.use); }

  inline static const Shape kShape = shape();
  OwnedSegment memory_;
  SegmentView segment_;
  Cells cells_;
  CellsOut out_{};
};

TEST_F(Pool, places_turn_in_half_a_cell) {
  const auto places = [&](std::uint32_t bytes, int payloads) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> out;
    for (int i = 0; i < payloads; ++i) {
      const CellPlace place = take(bytes);
      EXPECT_EQ(place.at % kLine, 0u);
      EXPECT_LE(place.at + bytes, 16384u);
      out.emplace(place.cell, place.at);
      free(place);
      cells_.harvest();
    }
    return out.size();
  };
  EXPECT_EQ(places(2500, 100), 3u) << "one cell goes round at first";
  places(2500, static_cast<int>(kRoundAfter / 2500));
  EXPECT_EQ(places(2500, 3 * 8), 24u) << "all of them, before one is used again";
  EXPECT_EQ(places(2047, 100), 8u) << "so short ones stay where they are";
  EXPECT_EQ(places(16384, 100), 8u);
  EXPECT_EQ(places(8193, 100), 8u);
}

TEST_F(Pool, places_turn_in_whole_cells_once_many_payloads_went_by) {
  const auto reach = [&](std::uint32_t bytes, std::uint32_t payloads) {
    std::uint32_t out = 0;
    for (std::uint32_t i = 0; i < payloads; ++i) {
      const CellPlace place = take(bytes);
      EXPECT_LE(place.at + bytes, bytes_of_cell(kShape, place.cell));
      out = std::max(out, place.at + bytes);
      free(place);
    }
    return out;
  };
  EXPECT_LE(reach(2500, kWidensAfter / 4), 8192u);
  EXPECT_GT(reach(2500, kWidensAfter), 8192u);
  EXPECT_LE(reach(20000, kLongWidensAfter / 8), 32768u) << "long cells count by themselves";
  EXPECT_GT(reach(20000, kLongWidensAfter), 32768u);
}

std::size_t resident(std::span<std::byte> memory) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data()) & ~std::uintptr_t{4095};
  const std::size_t bytes = reinterpret_cast<std::uintptr_t>(memory.data()) + memory.size() - begin;
  std::vector<unsigned char> pages((bytes + 4095) / 4096);
  EXPECT_EQ(::mincore(reinterpret_cast<void*>(begin), bytes, pages.data()),
            0);  // NOLINT(performance-no-int-to-ptr)
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char one) { return (one & 1) != 0; }));
}

/// How many pages of `memory` are in this process's page table, without looking at them.
std::size_t mapped(std::span<std::byte> memory) {
  const UniqueFd table(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  std::vector<std::uint64_t> entries(memory.size() / 4096);
  const std::size_t bytes = entries.size() * sizeof entries[0];
  const auto from =
      static_cast<off_t>(reinterpret_cast<std::uintptr_t>(memory.data()) / 4096 * sizeof entries[0]);
  EXPECT_EQ(::pread(table.get(), entries.data(), bytes, from), static_cast<ssize_t>(bytes));
  return static_cast<std::size_t>(
      std::ranges::count_if(entries, [](std::uint64_t entry) { return entry >> 63 != 0; }));
}

TEST_F(Pool, cells_get_their_pages_part_by_part_as_they_are_used) {
#if !defined(MADV_POPULATE_WRITE)
  GTEST_SKIP() << "a kernel without MADV_POPULATE_WRITE";
#endif
  // The pages of the cells from here on whose byte `at` has its page.
  const auto with_page = [&](std::uint32_t cell, std::uint32_t cells, std::uint32_t at) {
    std::size_t out = 0;
    for (std::uint32_t i = cell; i < cell + cells; ++i) out += resident({segment_.cell(i) + at, 1});
    return out;
  };
  const auto use = [&](std::uint32_t bytes) {
    free(take(bytes));
    cells_.harvest();
  };
  for (int i = 0; i < 100; ++i) use(1024);
  EXPECT_EQ(with_page(0, 8, 5000), 0u) << "so short ones need few";
  use(1025);
  EXPECT_EQ(with_page(0, 8, 5000), 1u) << "of the one that goes round at first";
  EXPECT_EQ(with_page(0, 3, 12500), 0u) << "payloads so short lie in the lower half";
  for (std::uint64_t i = 0; i <= kRoundAfter / 1025; ++i) use(1025);
  EXPECT_EQ(with_page(0, 8, 5000), 8u);
  EXPECT_EQ(with_page(0, 7, 12500), 0u);
  for (int i = 0; i < 8; ++i) use(8193);
  EXPECT_EQ(with_page(0, 8, 12500), 8u);
  EXPECT_EQ(with_page(8, 4, 5000), 0u) << "long ones come by themselves";
  for (std::uint64_t i = 0; i < kLongRoundAfter / 60000; ++i) use(60000);
  EXPECT_EQ(with_page(8, 4, 5000), 1u) << "and one of them goes round at first";
  EXPECT_EQ(with_page(8, 1, 60000), 1u);
  for (int i = 0; i < 3 + 1; ++i) use(60000);
  EXPECT_EQ(with_page(8, 4, 60000), 4u);
}

/// So many cells that a quarter of them are more than a harvest looks at.
class ManyCells : public Pool {
 protected:
  ManyCells() : Pool(many()) {}
  static Shape many() {
    Shape out = shape();
    out.cells = 128;
    return out;
  }
};

TEST_F(ManyCells, that_are_kept_do_not_hide_those_that_came_back) {
  for (std::uint64_t i = 0; i <= kRoundAfter / 5000; ++i) free(take(5000)), cells_.harvest();
  std::set<std::uint32_t> kept;
  while (kept.size() < 128 / kKeptPart) {
    const CellPlace place = take(5000);
    segment_.cell_state(place.cell).store(place.use | kKeptCell);
    kept.insert(place.cell);
  }
  for (int i = 0; i < 1000; ++i) {
    CellPlace place{};
    ASSERT_TRUE(cells_.take(1, out_, 5000, place)) << i;
    ASSERT_EQ(kept.count(place.cell), 0u) << i;
    free(place);
    ASSERT_LE(out_[0], kept.size() + 17) << i << ": at each harvest all others come back";
  }
  EXPECT_FALSE(cells_.waits_for(1));
  const CellPlace last = take(5000);
  EXPECT_TRUE(cells_.waits_for(1));
  EXPECT_FALSE(cells_.waits_for(1, 20000)) << "no long one";
  free(last);
  EXPECT_FALSE(cells_.waits_for(1));
}

TEST_F(Pool, payloads_may_stay_while_three_quarters_of_the_cells_are_left) {
  for (std::uint64_t i = 0; i <= kRoundAfter / 5000; ++i) free(take(5000)), cells_.harvest();
  EXPECT_FALSE(take(kKeepLeast - 1).may_stay);  // seven of eight are left
  EXPECT_TRUE(take(kKeepLeast).may_stay);
  EXPECT_FALSE(take(kKeepLeast).may_stay);
  EXPECT_TRUE(take(20000).may_stay) << "the long ones are counted by themselves";
  EXPECT_FALSE(take(20000).may_stay);
}

TEST_F(Pool, one_long_cell_goes_round_until_some_payloads_went_by) {
  const auto in_turn = [&](std::uint64_t payloads) {
    std::set<std::uint32_t> out;
    for (std::uint64_t i = 0; i < payloads; ++i) {
      const CellPlace place = take(40000);
      out.insert(place.cell);
      free(place);
    }
    return out;
  };
  using Set = std::set<std::uint32_t>;
  EXPECT_EQ(in_turn(kLongRoundAfter / 40000), Set{8}) << "a look at the cells before does not count";
  EXPECT_TRUE(cells_.are_few(20000));
  EXPECT_FALSE(cells_.are_settled(20000));
  in_turn(16);
  EXPECT_EQ(in_turn(4), (Set{8, 9, 10, 11}));
  EXPECT_FALSE(cells_.are_few(20000));
  EXPECT_TRUE(cells_.are_few(2000)) << "of the others none was used";
  in_turn(32);
  EXPECT_TRUE(cells_.are_settled(20000));
  EXPECT_FALSE(cells_.are_settled(2000));
}

TEST_F(Pool, more_long_cells_go_round_before_that_when_these_are_under_way) {
  const CellPlace places[] = {take(20000), take(20000)};
  CellsOut other{};
  CellPlace third{};
  ASSERT_TRUE(cells_.take(2, other, 20000, third));
  EXPECT_EQ(third.cell, 10u);
  EXPECT_TRUE(cells_.are_few(20000));
  CellPlace fourth{};
  CellsOut another{};
  ASSERT_TRUE(cells_.take(3, another, 20000, fourth));
  EXPECT_FALSE(cells_.are_few(20000)) << "a round is whole, whatever made it";
  for (const CellPlace& place : {places[0], places[1], third, fourth}) free(place);
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

TEST_F(WidePool, one_more_cell_goes_round_when_all_are_under_way) {
  using Set = std::set<std::uint32_t>;
  EXPECT_EQ(in_turn(3000, 20000), (Set{0, 1}));
  const CellPlace places[] = {take(100), take(100), take(100)};
  EXPECT_EQ(places[2].cell, 2u);
  CellPlace more{};
  EXPECT_FALSE(cells_.take(1, out_, 100, more)) << "it has its share";
  for (const CellPlace& place : places) free(place);
  EXPECT_EQ(in_turn(100, 12), (Set{0, 1, 2}));
}

#if defined(MADV_POPULATE_WRITE)
TEST_F(WidePool, a_cell_that_goes_round_later_gets_its_pages_when_it_is_used) {
  in_turn(3000, 1);
  EXPECT_GE(pages(0, 0), 124u);
  EXPECT_EQ(pages(1, 0), 0u);
  in_turn(3000, 2 * kRoundAfter / 3000);
  EXPECT_GE(pages(1, 0), 124u);
  EXPECT_EQ(pages(2, 0), 0u);
  const CellPlace places[] = {take(3000), take(3000), take(1000)};
  EXPECT_EQ(places[2].cell, 2u);
  EXPECT_EQ(pages(2, 0), 0u) << "so short ones need few";
  for (const CellPlace& place : places) free(place);
  in_turn(3000, 3);
  EXPECT_GE(pages(2, 0), 124u);
  EXPECT_EQ(pages(0, 1) + pages(1, 1) + pages(2, 1) + pages(3, 0), 0u);
  in_turn(600u << 10, 6);
  EXPECT_GE(pages(0, 1), 124u);
  EXPECT_GE(pages(2, 1), 124u);
  EXPECT_EQ(pages(3, 0), 0u);
}
#endif

/// Of the default sizes, for which a kernel may give huge pages.
class HugePool : public Pool {
 protected:
  HugePool() : Pool(of_default_sizes(), HugePages::start) {}

 public:
  static Shape of_default_sizes() {
    Shape out = shape();
    out.cells = 256, out.cell_bytes = 32768, out.long_cells = 64, out.long_cell_bytes = 131072;
    return out;
  }
};

/// The same, when it has been used.
class UsedHugePool : public Pool {
 protected:
  UsedHugePool() : Pool(HugePool::of_default_sizes(), HugePages::used) {}
};

/// Ordinary ones at the start.
class OrdinaryHugePool : public Pool {
 protected:
  OrdinaryHugePool() : Pool(HugePool::of_default_sizes(), HugePages::ordinary) {}
};

TEST_F(OrdinaryHugePool, long_cells_take_no_memory_before_they_are_used) {
  if (segment_.header().huge.load() == 0) GTEST_SKIP() << "the kernel gave no huge page";
  EXPECT_EQ(segment_.header().huge.load(), kHugeCells);
  EXPECT_FALSE(cells_.are_few(4096));
  EXPECT_TRUE(cells_.are_few(65536));
  EXPECT_EQ(resident({segment_.cell(0), kHugePage}), kHugePage / 4096);
  EXPECT_EQ(resident({segment_.cell(256), kHugePage}), 0u);
  for (std::uint32_t i = 0; i < kHugeRoundAfter / 65536 + 8; ++i) free(take(65536));
  EXPECT_EQ(segment_.header().huge.load(), kHugeCells | kHugeLongCells);
  EXPECT_FALSE(cells_.are_few(65536));
}

TEST_F(UsedHugePool, a_round_becomes_one_page_after_some_payloads) {
  const auto in_turn = [this](std::uint64_t payloads) {
    std::set<std::uint32_t> out;
    for (std::uint64_t i = 0; i < payloads; ++i) {
      const CellPlace place = take(4096);
      std::memset(segment_.cell(place.cell) + place.at, static_cast<int>(i), 4096);
      out.insert(place.cell);
      free(place);
    }
    return out.size();
  };
  EXPECT_EQ(in_turn(kHugeRoundAfter / 4096), 1u);
  EXPECT_EQ(segment_.header().huge.load(), 0u);
  EXPECT_LE(resident({segment_.cell(0), kHugePage}), 6u) << "memory is not taken before";
  const CellPlace before = take(4096);
  std::byte* const there = segment_.cell(before.cell) + before.at;
  std::memset(there, 0x5a, 4096);  // it is not read yet
  in_turn(32);
  if (segment_.header().huge.load() == 0) GTEST_SKIP() << "the kernel gave no huge page";
  EXPECT_EQ(segment_.header().huge.load(), kHugeCells) << "long ones count by themselves";
  EXPECT_EQ(resident({segment_.cell(0), kHugePage}), kHugePage / 4096);
  EXPECT_LE(in_turn(128), 8u) << "few at first";
  in_turn(60 * 64);
  EXPECT_EQ(in_turn(59 * 8), 59u);
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(there[i], std::byte{0x5a}) << i;
  free(before);
}

TEST_F(HugePool, a_round_is_one_page_whose_cells_go_round_more_and_more) {
  if (segment_.header().huge.load() != (kHugeCells | kHugeLongCells))
    GTEST_SKIP() << "the kernel gave no huge pages (one before 6.1, or too few were left)";
  for (const std::uint32_t bytes : {4000u, 60000u}) {
    EXPECT_FALSE(cells_.are_few(bytes));
    const bool is_long = bytes > 32768;
    const std::uint32_t first = is_long ? 256 : 0, round = is_long ? 15 : 60;
    std::byte* const begin = segment_.cell(first);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(begin) % kHugePage, 0u);
    EXPECT_EQ(resident({begin, kHugePage}), kHugePage / 4096);
    std::set<std::uint32_t> used;
    std::uint32_t reach = 0;
    const std::uint32_t each = is_long ? 16 : 64;  // payloads, and one more goes round
    for (std::uint32_t i = 0; i < (round + 1) * each; ++i) {
      const CellPlace place = take(bytes);
      EXPECT_LE(segment_.cell(place.cell) + place.at + bytes, begin + kHugePage);
      used.insert(place.cell);
      reach = std::max(reach, place.at + bytes);
      free(place);
      if (i == 3 * each) {
        EXPECT_LE(used.size(), 8u) << "few at first";
      }
    }
    EXPECT_EQ(used.size(), round);
    EXPECT_GT(reach, bytes_of_cell(segment_.shape(), first) / 2);
    EXPECT_LT(resident({segment_.cell(first + round + 1), kHugePage / 2}), 8u) << "and no other page";
  }
}

// The receiver sees all of it by one fault, and pages that there are not are not made by looking.
TEST_F(HugePool, a_receiver_maps_it_at_once) {
  if (segment_.header().huge.load() == 0) GTEST_SKIP() << "the kernel gave no huge page";
  const Mapping other = Mapping::shared(memory_.fd.get(), memory_.map.bytes());
  const SegmentView seen(other.data(), segment_.shape());
  CellPages pages;
  pages.used(seen, 0, 4000, Pages::to_read);
  pages.used(seen, 59, 32768, Pages::to_read);
  EXPECT_EQ(std::to_integer<int>(*seen.cell(30)), 0);
  EXPECT_EQ(mapped({seen.cell(0), kHugePage}), kHugePage / 4096) << "by the first look at any of its cells";
  EXPECT_LT(resident({segment_.cell(61), kHugePage / 2}), 8u);
  for (std::uint32_t i = 0; i < 60; ++i) {
    std::memset(segment_.cell(i), static_cast<int>(i + 1), 32768);
    EXPECT_EQ(seen.cell(i)[32767], static_cast<std::byte>(i + 1));
  }
}

TEST_F(Pool, two_payloads_under_way_never_overlap) {
  const unsigned seed = 5;
  std::mt19937 random(seed);
  std::vector<std::pair<CellPlace, std::uint32_t>> under_way;
  std::set<std::uint32_t> cells;
  for (int i = 0; i < 20000; ++i) {
    const std::uint32_t bytes = 1 + random() % (random() % 4 == 0 ? 65536 : 16384);
    CellPlace place{};
    if (cells_.take(1, out_, bytes, place)) {
      ASSERT_TRUE(cells.insert(place.cell).second) << "seed " << seed << ", payload " << i;
      ASSERT_EQ(is_long_cell(kShape, place.cell), bytes > 16384);
      ASSERT_LE(place.at + bytes, bytes_of_cell(kShape, place.cell));
      under_way.emplace_back(place, bytes);
    }
    if (!under_way.empty() && random() % 2 == 0) {
      std::swap(under_way[random() % under_way.size()], under_way.back());
      free(under_way.back().first);
      cells.erase(under_way.back().first.cell);
      under_way.pop_back();
    }
  }
  EXPECT_EQ(out_[0] + out_[1], cells_.busy());
}

TEST_F(Pool, a_cell_is_free_when_its_use_ended_and_not_when_another_did) {
  const CellPlace first = take(100);
  cells_.harvest();
  EXPECT_EQ(out_[0], 1u);
  free(first);
  cells_.harvest();
  EXPECT_EQ(out_[0], 0u);
  CellPlace again = take(100);
  while (again.cell != first.cell) free(again), cells_.harvest(), again = take(100);
  EXPECT_EQ(again.use, first.use + 1);
  cells_.harvest();
  EXPECT_EQ(out_[0], 1u) << "the state is still of the use before";
  free({first.cell, 0, first.use - 1});
  cells_.harvest();
  EXPECT_EQ(out_[0], 1u);
  free(again);
  cells_.harvest();
  EXPECT_EQ(out_[0], 0u);
}

TEST_F(Pool, one_owner_has_half_of_each_size_and_gives_it_back_when_it_goes) {
  CellPlace place{};
  for (int i = 0; i < 4; ++i) take(100);
  EXPECT_FALSE(cells_.take(1, out_, 100, place));
  for (int i = 0; i < 2; ++i) take(20000);
  EXPECT_FALSE(cells_.take(1, out_, 20000, place));
  EXPECT_EQ(out_, (CellsOut{4, 2}));
  CellsOut other{};
  EXPECT_TRUE(cells_.take(2, other, 100, place));
  EXPECT_TRUE(cells_.take(2, other, 20000, place));
  cells_.cancel(place.cell);
  cells_.reclaim(1);
  EXPECT_EQ(out_, CellsOut{});
  EXPECT_EQ(other, (CellsOut{1, 0}));
  EXPECT_EQ(cells_.busy(), 1u);
}

TEST(CellPlace, says_the_same_as_a_word) {
  for (const CellPlace place :
       {CellPlace{0, 0, 1}, CellPlace{65535, (1u << 24) - 64, kCellUses}, CellPlace{7, 4096, 99, true},
        CellPlace{65535, (1u << 24) - 64, kCellUses, true}}) {
    const CellPlace same = CellPlace::of(place.word());
    EXPECT_EQ(same.cell, place.cell);
    EXPECT_EQ(same.at, place.at);
    EXPECT_EQ(same.use, place.use);
    EXPECT_EQ(same.few, place.few);
  }
}

}  // namespace
}  // namespace stria::shm::test
