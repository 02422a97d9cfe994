// The pool of cells by itself: which cell a payload gets, and where in it.
#include "tests/transport/shm/cell_pool.hpp"

#include <random>

namespace stria::shm::test {
namespace {

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
  EXPECT_EQ(places(2500, kDoublesAfter), 3u) << "the ring is one cell at first";
  EXPECT_EQ(places(2500, 2 * kDoublesAfter), 6u) << "and doubles";
  EXPECT_EQ(places(2500, 4 * kDoublesAfter), 12u);
  EXPECT_EQ(places(2500, 3 * 8), 24u) << "all of them, before one is used again";
  EXPECT_EQ(places(2047, 50), 8u) << "so short ones stay where they are";
  EXPECT_EQ(places(16384, 50), 8u);
  EXPECT_EQ(places(8193, 50), 8u);
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
  EXPECT_LE(reach(2500, (1 + 2 + 4 + 4) * kDoublesAfter), 8192u);
  EXPECT_GT(reach(2500, 5 * kDoublesAfter), 8192u) << "the last doubling";
  EXPECT_LE(reach(20000, (1 + 2 + 2) * kLongDoublesAfter), 32768u) << "long cells count by themselves";
  EXPECT_GT(reach(20000, 3 * kLongDoublesAfter), 32768u);
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
  earn(64, 5000);
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
  earn(8, 5000);
  EXPECT_FALSE(take(kKeepLeast - 1).may_stay);  // seven of eight are left
  EXPECT_TRUE(take(kKeepLeast).may_stay);
  EXPECT_FALSE(take(kKeepLeast).may_stay);
  EXPECT_TRUE(take(20000).may_stay) << "the long ones are counted by themselves";
  EXPECT_FALSE(take(20000).may_stay);
}

TEST_F(Pool, the_ring_of_long_cells_begins_with_one_and_doubles_as_payloads_go_by) {
  const auto in_turn = [&](std::uint32_t payloads) {
    std::set<std::uint32_t> out;
    for (std::uint32_t i = 0; i < payloads; ++i) {
      const CellPlace place = take(40000);
      out.insert(place.cell);
      free(place);
      cells_.harvest();
    }
    return out;
  };
  using Set = std::set<std::uint32_t>;
  EXPECT_EQ(in_turn(kLongDoublesAfter), Set{8});
  EXPECT_TRUE(cells_.are_few(20000));
  EXPECT_EQ(in_turn(2 * kLongDoublesAfter), (Set{8, 9}));
  EXPECT_EQ(in_turn(4), (Set{8, 9, 10, 11}));
  EXPECT_FALSE(cells_.are_few(20000));
  EXPECT_TRUE(cells_.are_few(2000)) << "of the others none was used";
}

TEST_F(Pool, the_ring_of_long_cells_doubles_before_that_when_none_is_free) {
  const CellPlace places[] = {take(20000), take(20000)};
  EXPECT_TRUE(cells_.are_few(20000));
  CellsOut other{};
  CellPlace third{};
  ASSERT_TRUE(cells_.take(2, other, 20000, third));
  EXPECT_EQ(third.cell, 10u);
  EXPECT_FALSE(cells_.are_few(20000)) << "a round is whole, whatever made it";
  for (const CellPlace& place : {places[0], places[1], third}) free(place);
}

// Tries that are refused are no payloads: else a sender that tries again would get a whole ring by waiting.
TEST_F(ManyCells, that_are_refused_do_not_make_the_ring_grow) {
  std::vector<CellPlace> places;
  CellPlace place{};
  while (cells_.take(1, out_, 5000, place)) places.push_back(place);
  const std::uint32_t busy = cells_.busy();
  for (std::uint32_t i = 0; i < 128 * kDoublesAfter; ++i) ASSERT_FALSE(cells_.take(1, out_, 5000, place));
  EXPECT_EQ(cells_.busy(), busy);
  for (const CellPlace& one : places) free(one);
  EXPECT_LE(take(5000).at + 5000, 8192u) << "the lower half of its cell";
}

// The cells that are under way for longest may be those of a peer that stands still.
TEST_F(ManyCells, that_came_back_are_found_behind_those_of_a_peer_that_stands_still) {
  CellsOut other{};
  for (int i = 0; i < 24; ++i) {
    CellPlace place{};
    ASSERT_TRUE(cells_.take(2, other, 5000, place));
  }
  std::set<std::uint32_t> used;
  for (int i = 0; i < 32; ++i) {  // of a ring of 32, eight are left
    const CellPlace place = take(5000);
    used.insert(place.cell);
    free(place);
  }
  EXPECT_LE(used.size(), 8u);
}

TEST_F(WidePool, the_ring_grows_beyond_a_round_when_none_is_free) {
  using Set = std::set<std::uint32_t>;
  EXPECT_EQ(in_turn(3000, 4 * kDoublesAfter), (Set{0, 1}));
  const CellPlace places[] = {take(100), take(100), take(100)};
  EXPECT_EQ(places[2].cell, 2u);
  CellPlace more{};
  EXPECT_FALSE(cells_.take(1, out_, 100, more)) << "it has its share";
  for (const CellPlace& place : places) free(place);
  EXPECT_EQ(in_turn(100, 12), (Set{0, 1, 2})) << "one by one";
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
    EXPECT_EQ(same.may_stay, place.may_stay);
  }
}

}  // namespace
}  // namespace stria::shm::test
