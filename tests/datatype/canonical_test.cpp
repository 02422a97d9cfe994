// Equal memory has equal trees: one column in every notation, random types against their flat lists, each
// pass.
#include "datatype/canonical.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "datatype/layout.hpp"
#include "datatype/period.hpp"
#include "tests/datatype/random_type.hpp"

namespace stria::datatype {
namespace {

using Vec = std::vector<std::int64_t>;

/// The layout of a typemap, one block of one byte per entry: the most naive notation there is.
Layout byte_by_byte(const naive::Typemap& typemap) {
  return must(Layout::indexed_block(1, typemap.bytes, Layout::bytes(1)));
}

std::int64_t maximal_runs(const naive::Typemap& t) {
  std::int64_t runs = t.bytes.empty() ? 0 : 1;
  for (std::size_t i = 1; i < t.bytes.size(); ++i) runs += t.bytes[i] != t.bytes[i - 1] + 1;
  return runs;
}

struct Notation {
  const char* name;
  Layout layout;
};

/// Column 0 of a rows x columns matrix of doubles, in every notation, all with the same bounds.
std::vector<Notation> columns(std::int64_t rows, std::int64_t row_bytes) {
  const Layout element = Layout::bytes(8);
  Vec at, ones(static_cast<std::size_t>(rows), 1);
  std::vector<Layout> elements(static_cast<std::size_t>(rows), element);
  for (std::int64_t i = 0; i < rows; ++i) at.push_back(i * row_bytes);
  const Layout in_row = must(Layout::resized(element, 0, row_bytes));
  const Layout half = must(Layout::strided(rows / 2, row_bytes, element));
  const Vec halves_at{0, rows / 2 * row_bytes};
  const Layout bytes_of_element = must(Layout::contiguous(8, Layout::bytes(1)));
  const Layout padded = must(Layout::resized(must(Layout::contiguous(2, Layout::bytes(4))), 0, row_bytes));
  // A subarray: one element of a row, then rows of the outer dimension, then the array's own extent.
  const Layout subarray = must(Layout::resized(
      must(Layout::contiguous(
          rows, must(Layout::resized(must(Layout::vector(1, 1, row_bytes, element)), 0, row_bytes)))),
      0, rows * row_bytes));
  const std::int64_t extent = (rows - 1) * row_bytes + 8;
  auto same_bounds = [&](const Layout& l) { return must(Layout::resized(l, 0, extent)); };
  return {
      {"vector", must(Layout::vector(rows, 1, row_bytes, element))},
      {"hvector", must(Layout::strided(rows, row_bytes, element))},
      {"hvector of bytes", must(Layout::vector(rows, 8, row_bytes, Layout::bytes(1)))},
      {"hvector of contiguous bytes", must(Layout::strided(rows, row_bytes, bytes_of_element))},
      {"indexed", must(Layout::indexed(ones, at, element))},
      {"hindexed_block", must(Layout::indexed_block(1, at, element))},
      {"hindexed_block of 8 bytes", must(Layout::indexed_block(8, at, Layout::bytes(1)))},
      {"struct", must(Layout::composite(ones, at, elements))},
      {"struct of two halves",
       must(Layout::composite(Vec{1, 1}, halves_at, std::vector<Layout>{half, half}))},
      {"struct of one and the rest",
       must(Layout::composite(
           Vec{1, 1}, Vec{0, row_bytes},
           std::vector<Layout>{element, must(Layout::strided(rows - 1, row_bytes, element))}))},
      {"indexed of two halves", must(Layout::indexed_block(1, halves_at, half))},
      {"nested vectors",
       must(Layout::strided(rows / 4, 4 * row_bytes, must(Layout::strided(4, row_bytes, element))))},
      {"nested contiguous of resized",
       same_bounds(must(Layout::contiguous(rows / 2, must(Layout::contiguous(2, in_row)))))},
      {"contiguous of padded struct", same_bounds(must(Layout::contiguous(rows, padded)))},
      {"subarray", same_bounds(subarray)},
      {"with empty blocks",
       must(Layout::indexed(Vec{0, 1, 0, rows - 1}, Vec{-500, 0, 77, row_bytes}, in_row))},
  };
}

TEST(Canonical, every_notation_of_a_column_gives_one_layout) {
  // 8192 rows are beyond what is written out run by run.
  for (const std::int64_t rows : {4, 8, 12, 512, 4096, 8192}) {
    std::vector<Notation> all = columns(rows, rows * 8);
    all.back().layout = must(Layout::resized(all.back().layout, 0, all.front().layout.extent()));
    for (const Notation& a : all) {
      EXPECT_EQ(to_string(a.layout.root()),
                "strided(" + std::to_string(rows) + ", " + std::to_string(rows * 8) + ", block(8))")
          << a.name << ", " << rows << " rows";
      for (const Notation& b : all) {
        EXPECT_TRUE(a.layout == b.layout) << rows << " rows: " << a.name << " " << a.layout.to_string()
                                          << " and " << b.name << " " << b.layout.to_string();
        EXPECT_EQ(a.layout.hash(), b.layout.hash());
      }
    }
  }
}

TEST(Canonical, a_type_and_its_bytes_one_by_one_have_the_same_tree) {
  std::int64_t lists = 0, total_runs = 0, total_depth = 0;
  const std::int64_t n = rounds(20000);
  for (std::int64_t round = 0; round < n; ++round) {
    Random random(seed_of(round));
    const RandomType type = random_type(random, static_cast<int>(random.in(1, 4)), 1500);
    const Layout flat = byte_by_byte(type.typemap);
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n" << type.how);
    ASSERT_TRUE(same_memory(type.layout, flat)) << type.layout.to_string() << "\n" << flat.to_string();
    ASSERT_EQ(type.layout.block_count(), maximal_runs(type.typemap)) << type.layout.to_string();
    ASSERT_EQ(type.layout.is_contiguous(), maximal_runs(type.typemap) <= 1);
    for (const std::int64_t count : {2, 3})
      ASSERT_EQ(type.layout.is_contiguous(count), maximal_runs(naive::instances(count, type.typemap)) <= 1);
    lists += type.layout.root().form.index() >= 2;
    total_runs += type.layout.block_count();
    total_depth += type.layout.root().depth;
  }
  // The generator must not decay into trivial types.
  EXPECT_GT(lists, n / 10);
  EXPECT_GT(total_runs, n * 10);
  EXPECT_GT(total_depth, n * 3 / 2);
}

TEST(Canonical, different_memory_or_order_gives_different_trees) {
  const Layout forward = must(Layout::strided(4, 16, Layout::bytes(8)));
  const Layout backward =
      must(Layout::resized(must(Layout::strided(4, -16, Layout::bytes(8))), 0, forward.extent()));
  const Layout moved_up = must(Layout::indexed_block(1, Vec{48}, backward));
  EXPECT_EQ(moved_up.true_lb(), forward.true_lb());
  EXPECT_EQ(moved_up.true_ub(), forward.true_ub());
  EXPECT_FALSE(same_memory(forward, moved_up)) << "the same bytes in another order";
  EXPECT_FALSE(same_memory(forward, must(Layout::strided(4, 16, Layout::bytes(7)))));
  EXPECT_FALSE(same_memory(forward, must(Layout::indexed_block(1, Vec{8}, forward))));
}

TEST(Canonical, extent_is_part_of_equality_but_not_of_the_memory) {
  const Layout a = must(Layout::strided(4, 16, Layout::bytes(8)));
  const Layout b = must(Layout::resized(a, 0, 64));
  EXPECT_TRUE(same_memory(a, b));
  EXPECT_FALSE(a == b);
  EXPECT_TRUE(a == must(Layout::resized(b, a.lb(), a.extent())));
}

struct Shape {
  const char* what;
  Layout layout;
  const char* tree;
};

TEST(Canonical, trees_are_what_a_person_would_write) {
  const Layout d = Layout::bytes(8);
  const Layout plane = must(Layout::vector(4, 3, 80, d));
  const Layout record = must(
      Layout::resized(must(Layout::composite(Vec{1, 1, 1}, Vec{0, 8, 16},
                                             std::vector<Layout>{d, Layout::bytes(4), Layout::bytes(1)})),
                      0, 24));
  const Layout with_hole = must(Layout::resized(must(Layout::indexed_block(1, Vec{0, 24}, d)), 0, 32));
  const Layout column = must(Layout::strided(100, 800, d));
  const Layout gap = must(Layout::indexed_block(1, Vec{0, 10, 30}, Layout::bytes(5)));
  const Shape shapes[] = {
      {"nothing", Layout(), "block(0)"},
      {"contiguous of contiguous", must(Layout::contiguous(3, must(Layout::contiguous(5, d)))), "block(120)"},
      {"a box of three dimensions", must(Layout::strided(5, 1000, plane)),
       "strided(5, 1000, strided(4, 80, block(24)))"},
      {"a whole plane", must(Layout::vector(4, 10, 80, d)), "block(320)"},
      {"an array of records", must(Layout::contiguous(1000, record)),
       "strided(1000, 24, blocks([12 at 0, 1 at 16]))"},
      {"runs that cross instances", must(Layout::contiguous(3, with_hole)),
       "blocks([8 at 0, 16 at 24, 16 at 56, 8 at 88])"},
      {"many runs that cross instances", must(Layout::contiguous(100000, with_hole)),
       "composite([block(8) at 0, strided(99999, 32, block(16)) at 24, block(8) at 3199992])"},
      {"two columns one after the other", must(Layout::indexed_block(1, Vec{0, 8}, column)),
       "strided(2, 8, strided(100, 800, block(8)))"},
      {"the same place again and again", must(Layout::strided(3, 0, d)), "strided(3, 0, block(8))"},
      {"a column backwards", must(Layout::strided(3, -80, d)), "strided(3, -80, block(8))"},
      {"blocks that touch in reverse", must(Layout::strided(3, -8, d)), "strided(3, -8, block(8))"},
      {"irregular", must(Layout::indexed_block(1, Vec{4, 40, 12, 99}, Layout::bytes(4))),
       "indexed([0, 36, 8, 95], block(4))"},
      {"an irregular group, repeated", must(Layout::strided(9, 200, gap)),
       "strided(9, 200, indexed([0, 10, 30], block(5)))"},
      {"a column and something else",
       must(Layout::composite(Vec{1, 1}, Vec{0, 100000}, std::vector<Layout>{column, Layout::bytes(3)})),
       "composite([strided(100, 800, block(8)) at 0, block(3) at 100000])"},
  };
  for (const Shape& s : shapes) EXPECT_EQ(to_string(s.layout.root()), s.tree) << s.what;
}

TEST(Canonical, a_regular_stretch_inside_a_long_list_is_found) {
  Random random(seed_of(0));
  Vec at;
  std::int64_t place = 0;
  for (int i = 0; i < 3000; ++i) at.push_back(place += 8 + 8 * random.in(1, 50));
  for (int i = 0; i < 5000; ++i) at.push_back(place += 64);
  for (int i = 0; i < 3000; ++i) at.push_back(place += 8 + 8 * random.in(1, 50));
  const Layout layout = must(Layout::indexed_block(1, at, Layout::bytes(8)));
  const auto* composite = std::get_if<Composite>(&layout.root().form);
  ASSERT_NE(composite, nullptr) << layout.to_string();
  bool found = false;
  for (const NodePtr& child : composite->children)
    found |= child->strided() != nullptr && child->strided()->count >= 5000 && child->strided()->stride == 64;
  EXPECT_TRUE(found) << layout.to_string();
  EXPECT_EQ(layout.block_count(), 11000);
}

/// The passes alone on a sequence of blocks: what every shorter way has to give.
Placed by_the_passes(const Vec& lens, const Vec& at) {
  Pieces pieces;
  for (std::size_t i = 0; i < at.size(); ++i)
    if (lens[i] > 0) pieces.push_back({at[i], lens[i], nullptr});
  return canonical_sequence(std::move(pieces));
}

TEST(Canonical, long_lists_of_blocks_by_the_short_way_are_what_the_passes_give) {
  std::int64_t composites = 0, strideds = 0, lists = 0;
  for (std::int64_t round = 0; round < rounds(60); ++round) {
    Random random(seed_of(round));
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round));
    // Irregular; or with one regular stretch, a period, touching neighbours, equal lengths, empty blocks.
    const std::int64_t kind = random.in(0, 5), period = random.in(3, 40);
    const std::int64_t row = random.one_in(2) ? 9 : 200;  // short, or longer than what stays in a list
    const std::int64_t n = random.in(4200, 9000) / period * period;
    Vec lens, at;
    std::int64_t place = random.in(-1000, 1000);
    for (std::int64_t i = 0; i < n; ++i) {
      const bool regular = (kind == 1 && i > n / 2 && i < n / 2 + row) || (kind == 2 && i >= period);
      const auto earlier = static_cast<std::size_t>(kind == 2 ? i - period : i - 1);
      const std::int64_t length = kind == 3 ? 4 : random.in(kind == 5 ? 0 : 1, 6);
      lens.push_back(regular ? lens[earlier] : length);
      at.push_back(place);
      const std::int64_t gap = kind == 4 && random.one_in(2) ? 0 : random.in(1, 50);
      const std::int64_t step = kind == 2 && regular ? at[earlier + 1] - at[earlier] : 64;
      place += regular ? step : lens.back() + gap;
    }
    const Layout made = must(Layout::indexed(lens, at, Layout::bytes(1)));
    const Placed expected = by_the_passes(lens, at);
    ASSERT_EQ(made.origin(), expected.displacement);
    ASSERT_TRUE(equal(made.root(), *expected.node)) << made.to_string() << "\n" << to_string(*expected.node);
    std::int64_t low = INT64_MAX, high = INT64_MIN;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (lens[i] == 0) continue;
      low = std::min(low, at[i]);
      high = std::max(high, at[i] + lens[i]);
    }
    ASSERT_EQ(made.lb(), low);
    ASSERT_EQ(made.extent(), high - low);
    composites += std::holds_alternative<Composite>(made.root().form);
    strideds += std::holds_alternative<Strided>(made.root().form);
    lists +=
        std::holds_alternative<Blocks>(made.root().form) || std::holds_alternative<Indexed>(made.root().form);
    // With bounds of the child's own.
    const Layout shifted = must(Layout::resized(Layout::bytes(2), -3, 2));
    const Layout of_shifted = must(Layout::indexed(lens, at, shifted));
    const Layout again = must(Layout::composite(Vec{1}, Vec{0}, std::vector<Layout>{of_shifted}));
    ASSERT_EQ(of_shifted.lb(), low - 3);
    ASSERT_EQ(of_shifted.has_explicit_bounds(), again.has_explicit_bounds());
    ASSERT_EQ(of_shifted.extent(), again.extent());
  }
  EXPECT_GT(lists, 0);
  if (rounds(60) >= 60) {
    EXPECT_GT(composites, 0);
    EXPECT_GT(strideds, 0);
  }
}

// Lists go by a short way (block_list.hpp), composites by the passes: the tree is one.
TEST(Canonical, lists_are_what_the_passes_make_of_their_blocks) {
  std::int64_t lists = 0, others = 0;
  for (std::int64_t round = 0; round < rounds(20000); ++round) {
    Random random(seed_of(round));
    const std::int64_t blocks = random.one_in(50) ? random.in(4000, 4200) : random.in(1, 60);
    const std::int64_t most = random.in(1, 3), rows = random.in(1, 12);
    const std::int64_t holes = random.in(0, 3);
    Vec lens, at;
    for (std::int64_t next = random.in(-50, 50); static_cast<std::int64_t>(lens.size()) < blocks;) {
      // Now and then a stretch of equal blocks at one distance.
      const std::int64_t n = random.one_in(rows) ? random.in(2, 9) : 1;
      const std::int64_t bytes = random.in(0, most), step = bytes + random.in(0, holes);
      for (std::int64_t k = 0; k < n; ++k, next += step) {
        lens.push_back(bytes);
        at.push_back(next);
      }
      next += random.in(-2, 3);
    }
    const Layout list = must(Layout::indexed(lens, at, Layout::bytes(1)));
    const Layout parts =
        must(Layout::composite(lens, at, std::vector<Layout>(lens.size(), Layout::bytes(1))));
    ASSERT_EQ(list.to_string(), parts.to_string()) << "round " << round;
    ASSERT_TRUE(list == parts) << "round " << round;
    const bool is_list =
        std::holds_alternative<Blocks>(list.root().form) || std::holds_alternative<Indexed>(list.root().form);
    ++(is_list ? lists : others);
  }
  EXPECT_GT(lists, 0);
  EXPECT_GT(others, 0);
}

TEST(Canonical, trees_stay_shallow_when_types_are_nested_a_thousand_times) {
  Random random(seed_of(0));
  Layout layout = Layout::bytes(3);
  for (int i = 0; i < 1000; ++i)
    layout = must(Layout::composite(Vec{1, 1}, Vec{layout.true_ub() + random.in(1, 9), -5},
                                    std::vector<Layout>{Layout::bytes(2), layout}));
  EXPECT_LE(layout.root().depth, 4);
  EXPECT_EQ(layout.size(), 2003);
  // The same on top of a list that is longer than lists within lists are flattened to.
  Vec at(kSpliceEntries + 1000);
  std::int64_t place = 0;
  for (std::int64_t& a : at) a = place += 1 + random.in(1, 3);
  layout = must(Layout::indexed_block(1, at, Layout::bytes(1)));
  const int depth = layout.root().depth;
  for (int i = 0; i < 5; ++i)
    layout = must(Layout::composite(Vec{1, 1}, Vec{0, layout.true_ub() + 7},
                                    std::vector<Layout>{layout, Layout::bytes(2)}));
  EXPECT_LE(layout.root().depth, depth + 1);
}

TEST(Passes, merge_adjacent_joins_only_neighbours_of_the_sequence) {
  Pieces pieces{{0, 8, nullptr}, {8, 8, nullptr}, {32, 4, nullptr}, {16, 8, nullptr}, {24, 8, nullptr}};
  merge_adjacent(pieces);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0].bytes, 16);
  EXPECT_EQ(pieces[1].bytes, 4);
  EXPECT_EQ(pieces[2].displacement, 16);
  EXPECT_EQ(pieces[2].bytes, 16);
}

TEST(Passes, find_period_finds_the_smallest_that_divides_and_none_where_there_is_none) {
  auto blocks = [](std::initializer_list<std::int64_t> at) {
    Pieces p;
    for (const std::int64_t a : at) p.push_back({a, 4, nullptr});
    return p;
  };
  auto period = [](const Pieces& p) {
    const auto found = find_period(p);
    return found ? std::pair{found->pieces, found->shift} : std::pair{std::size_t{0}, std::int64_t{0}};
  };
  EXPECT_EQ(period(blocks({0, 10})), (std::pair<std::size_t, std::int64_t>{1, 10}));
  EXPECT_EQ(period(blocks({0, 10, 20, 30})), (std::pair<std::size_t, std::int64_t>{1, 10}));
  EXPECT_EQ(period(blocks({0, 10, 100, 110, 200, 210})), (std::pair<std::size_t, std::int64_t>{2, 100}));
  EXPECT_EQ(period(blocks({0, 10, 100, 110, 200})), (std::pair<std::size_t, std::int64_t>{0, 0}));
  EXPECT_EQ(period(blocks({0, 10, 30, 60})), (std::pair<std::size_t, std::int64_t>{0, 0}));
  Pieces unequal = blocks({0, 10});
  unequal[1].bytes = 5;
  EXPECT_EQ(period(unequal), (std::pair<std::size_t, std::int64_t>{0, 0}));
  unequal = blocks({0, 10, 20, 30});
  unequal[0].bytes = unequal[2].bytes = 3;
  EXPECT_EQ(period(unequal), (std::pair<std::size_t, std::int64_t>{2, 20}));
}

TEST(Passes, smallest_period_asks_each_question_once) {
  for (const std::size_t n : {64U, 96U, 960U, 1024U}) {
    std::set<std::size_t> asked;
    const std::size_t found = smallest_period(n, [&](std::size_t i, std::size_t j, std::size_t p) {
      EXPECT_TRUE(i > 0 || asked.insert(p).second) << "period " << p << " of " << n << " a second time";
      return j + 1 < n;  // all alike but the last
    });
    EXPECT_EQ(found, n);
  }
  // What is left after a prime that is none must still be taken out: 28 = 4 * 7, period 4.
  EXPECT_EQ(smallest_period(28, [](std::size_t i, std::size_t j, std::size_t) { return i % 4 == j % 4; }),
            4U);
}

TEST(Passes, smallest_period_of_equal_elements_at_one_distance_takes_one_pass) {
  for (const std::size_t n : {2U, 7U, 64U, 960U, 1024U}) {
    std::size_t asked = 0;
    EXPECT_EQ(smallest_period(n, [&](std::size_t, std::size_t, std::size_t) { return ++asked > 0; }), 1U);
    EXPECT_EQ(asked, n - 1);
  }
  const auto all = [](std::size_t, std::size_t, std::size_t) { return true; };
  EXPECT_EQ(smallest_period(1, all), 1U);
  EXPECT_EQ(smallest_period(0, all), 0U) << "there is none to compare";
}

}  // namespace
}  // namespace stria::datatype
