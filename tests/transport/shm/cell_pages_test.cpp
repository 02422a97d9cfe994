// When cells have their pages: as they are used, part by part, or as one huge page.
#include "tests/transport/shm/cell_pool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace stria::shm::test {
namespace {

constexpr const char* kNoHugePages =
    "the kernel gives no huge pages on demand (MADV_COLLAPSE: Linux 6.1 and later), or has none left";

constexpr const char* kAllHuge =
    "the kernel gives shared memory huge pages unasked (/sys/kernel/mm/transparent_hugepage/shmem_enabled), "
    "so "
    "no part of it is without pages";

/// Whether all shared memory gets huge pages, so that pages come with others and none can be shown to be
/// missing.
bool shared_memory_is_huge_unasked() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  for (const char* const mode : {"[always]", "[within_size]", "[force]"})
    if (text.find(mode) != std::string::npos) return true;
  return false;
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
  GTEST_SKIP() << "the system headers lack MADV_POPULATE_WRITE (Linux 5.14)";
#endif
  if (shared_memory_is_huge_unasked()) GTEST_SKIP() << kAllHuge;
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
  for (int i = 0; i < 20; ++i) use(1024);
  EXPECT_EQ(with_page(0, 8, 5000), 0u) << "so short ones need few";
  use(1025);
  EXPECT_EQ(with_page(0, 8, 5000), 1u) << "the ring is one cell at first";
  EXPECT_EQ(with_page(0, 3, 12500), 0u) << "payloads so short lie in the lower half";
  earn(8, 1025);
  EXPECT_EQ(with_page(0, 8, 5000), 8u);
  EXPECT_EQ(with_page(0, 7, 12500), 0u);
  for (int i = 0; i < 8; ++i) use(8193);
  EXPECT_EQ(with_page(0, 8, 12500), 8u);
  EXPECT_EQ(with_page(8, 4, 5000), 0u) << "long ones come by themselves";
  for (std::uint32_t i = 0; i < kLongDoublesAfter; ++i) use(60000);
  EXPECT_EQ(with_page(8, 4, 5000), 1u) << "and their ring is one cell at first";
  EXPECT_EQ(with_page(8, 1, 60000), 1u);
  for (std::uint32_t i = 0; i < 2 * kLongDoublesAfter + 4; ++i) use(60000);
  EXPECT_EQ(with_page(8, 4, 60000), 4u);
}

#if defined(MADV_POPULATE_WRITE)
TEST_F(WidePool, a_cell_that_joins_the_ring_later_gets_its_pages_when_it_is_used) {
  if (shared_memory_is_huge_unasked()) GTEST_SKIP() << kAllHuge;
  in_turn(3000, 1);
  EXPECT_GE(pages(0, 0), 124u);
  EXPECT_EQ(pages(1, 0), 0u);
  in_turn(3000, 2 * kDoublesAfter);
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

/// Whether the kernel makes a huge page of cells on demand at this moment.
bool system_has_a_huge_page() {
  const Shape shape = HugePool::of_default_sizes();
  const SegmentMemory memory = create_segment("cells", plan(shape).bytes).value();
  const SegmentView segment(memory.map.data(), shape);
  return make_huge_page({segment.cell(0), kHugePage});
}

/// Cells that become a huge page after some use.
class UsedHugePool : public Pool {
 protected:
  UsedHugePool() : Pool(HugePool::of_default_sizes(), HugePages::used) {}
};

/// Cells of which the ordinary ones are a huge page at the start.
class OrdinaryHugePool : public Pool {
 protected:
  OrdinaryHugePool() : Pool(HugePool::of_default_sizes(), HugePages::ordinary) {}
};

TEST_F(OrdinaryHugePool, long_cells_take_no_memory_before_they_are_used) {
  if (shared_memory_is_huge_unasked()) GTEST_SKIP() << kAllHuge;
  if (segment_.header().huge.load() == 0) GTEST_SKIP() << kNoHugePages;
  EXPECT_EQ(segment_.header().huge.load(), kHugeCells);
  EXPECT_FALSE(cells_.are_few(4096));
  EXPECT_TRUE(cells_.are_few(65536));
  EXPECT_EQ(resident({segment_.cell(0), kHugePage}), kHugePage / 4096);
  EXPECT_EQ(resident({segment_.cell(256), kHugePage}), 0u);
  earn(2, 65536);
  if (segment_.header().huge.load() == kHugeCells && !system_has_a_huge_page()) GTEST_SKIP() << kNoHugePages;
  EXPECT_EQ(segment_.header().huge.load(), kHugeCells | kHugeLongCells);
  EXPECT_FALSE(cells_.are_few(65536));
}

/// So few long cells that a round has less than kFirstOfHuge of them.
class FewLongCells : public Pool {
 protected:
  FewLongCells() : Pool(few(), HugePages::ordinary) {}
  static Shape few() {
    Shape out = HugePool::of_default_sizes();
    out.long_cells = 3, out.long_cell_bytes = 1u << 20;
    return out;
  }
};

TEST_F(FewLongCells, that_are_all_in_the_ring_stay_as_many_when_they_become_a_huge_page) {
  const CellPlace places[] = {take(600000), take(600000)};
  for (const CellPlace& place : places) free(place);
  for (std::uint32_t i = 0; i < 8 * kLongHugeAfter; ++i) {
    const CellPlace place = take(600000);
    ASSERT_LT(place.cell, all_cells(segment_.shape())) << i;
    free(place);
    cells_.harvest();
  }
}

TEST_F(UsedHugePool, a_round_becomes_one_page_after_some_payloads) {
  if (shared_memory_is_huge_unasked()) GTEST_SKIP() << kAllHuge;
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
  EXPECT_EQ(in_turn(kDoublesAfter / 2), 1u);
  EXPECT_EQ(segment_.header().huge.load(), 0u);
  EXPECT_LE(resident({segment_.cell(0), kHugePage}), 6u) << "memory is not taken before";
  const CellPlace before = take(4096);
  std::byte* const there = segment_.cell(before.cell) + before.at;
  std::memset(there, 0x5a, 4096);  // it is not read yet
  in_turn(32);
  if (segment_.header().huge.load() == 0) GTEST_SKIP() << kNoHugePages;
  EXPECT_EQ(segment_.header().huge.load(), kHugeCells) << "long ones count by themselves";
  EXPECT_EQ(resident({segment_.cell(0), kHugePage}), kHugePage / 4096);
  EXPECT_LE(in_turn(4 * kDoublesAfter), 8u) << "few at first";
  earn(64, 4096);
  EXPECT_EQ(in_turn(59 * 8), 59u);
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(there[i], std::byte{0x5a}) << i;
  free(before);
}

TEST_F(HugePool, a_round_is_one_page_of_which_the_ring_is_few_cells_at_first) {
  if (shared_memory_is_huge_unasked()) GTEST_SKIP() << kAllHuge;
  if (segment_.header().huge.load() != (kHugeCells | kHugeLongCells)) GTEST_SKIP() << kNoHugePages;
  for (const std::uint32_t bytes : {4000u, 60000u}) {
    EXPECT_FALSE(cells_.are_few(bytes));
    const bool is_long = bytes > 32768;
    const std::uint32_t first = is_long ? 256 : 0, round = is_long ? 15 : 60;
    std::byte* const begin = segment_.cell(first);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(begin) % kHugePage, 0u);
    EXPECT_EQ(resident({begin, kHugePage}), kHugePage / 4096);
    std::set<std::uint32_t> used;
    std::uint32_t reach = 0;
    const std::uint32_t each = is_long ? kLongDoublesAfter : kDoublesAfter;
    for (std::uint32_t i = 0; i < 2 * round * each; ++i) {
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
  if (shared_memory_is_huge_unasked()) GTEST_SKIP() << kAllHuge;
  if (segment_.header().huge.load() == 0) GTEST_SKIP() << kNoHugePages;
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

}  // namespace
}  // namespace stria::shm::test
