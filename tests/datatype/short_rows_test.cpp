// Short rows in irregular lists: when they become blocks of the list, when they stay, and that neither
// depends on the constructors.
#include "datatype/short_rows.hpp"

#include <gtest/gtest.h>

#include "datatype/canonical.hpp"
#include "tests/datatype/check_pack.hpp"
#include "tests/datatype/check_transfer.hpp"

namespace stria::datatype {
namespace {

using Vec = std::vector<std::int64_t>;

/// Rows of 8-byte blocks 16 bytes apart: a field of some structs of an array.
struct Rows {
  Vec at, blocks;  // of each row
  void add(std::int64_t n, Random& random) {
    const std::int64_t end = at.empty() ? 0 : at.back() + 16 * blocks.back();
    at.push_back(end + 16 * random.in(3, 30));
    blocks.push_back(n);
  }
  std::int64_t count() const {
    std::int64_t sum = 0;
    for (const std::int64_t n : blocks) sum += n;
    return sum;
  }
  Vec places() const {
    Vec all;
    for (std::size_t r = 0; r < at.size(); ++r)
      for (std::int64_t i = 0; i < blocks[r]; ++i) all.push_back(at[r] + 16 * i);
    return all;
  }
};
Rows random_rows(Random& random, std::int64_t rows, std::int64_t least, std::int64_t most) {
  Rows out;
  for (std::int64_t r = 0; r < rows; ++r) out.add(random.in(least, most), random);
  return out;
}

Layout row_layout(std::int64_t blocks) {
  return must(Layout::strided(blocks, 16, Layout::bytes(8)));
}
Layout as_list(const Rows& rows) {
  return must(Layout::indexed_block(8, rows.places(), Layout::bytes(1)));
}
Layout as_struct(const Rows& rows) {
  std::vector<Layout> children;
  for (const std::int64_t n : rows.blocks) children.push_back(row_layout(n));
  return must(Layout::composite(Vec(rows.at.size(), 1), rows.at, children));
}
/// The same memory in every notation there is for it.
std::vector<Layout> notations(const Rows& rows) {
  const Layout element = must(Layout::resized(Layout::bytes(8), 0, 16));
  const Vec places = rows.places(), ones(places.size(), 1);
  const std::vector<Layout> blocks(places.size(), Layout::bytes(8));
  Rows halves[2];
  for (std::size_t r = 0; r < rows.at.size(); ++r) {
    Rows& half = halves[r < rows.at.size() / 2 ? 0 : 1];
    half.at.push_back(rows.at[r]);
    half.blocks.push_back(rows.blocks[r]);
  }
  return {as_list(rows),
          as_struct(rows),
          must(Layout::indexed(rows.blocks, rows.at, element)),
          must(Layout::composite(ones, places, blocks)),
          must(Layout::composite(Vec{1, 1}, Vec{0, 0},
                                 std::vector<Layout>{as_struct(halves[0]), as_list(halves[1])})),
          must(Layout::composite(Vec{1, 1}, Vec{0, 0},
                                 std::vector<Layout>{as_list(halves[0]), as_struct(halves[1])}))};
}

std::size_t parts_of(const Layout& layout) {
  const auto* composite = std::get_if<Composite>(&layout.root().form);
  return composite != nullptr ? composite->children.size() : 1;
}
bool is_list_of_blocks(const Layout& layout) {
  const auto* list = std::get_if<Indexed>(&layout.root().form);
  return std::holds_alternative<Blocks>(layout.root().form) ||
         (list != nullptr && list->child->block() != nullptr);
}

TEST(ShortRows, of_a_long_list_stay_blocks_of_it) {
  for (const std::int64_t blocks : {4000, 8000, 1000000})
    for (const std::int64_t most : {12, 24, 40, 100}) {
      Random random(seed_of(most));
      const Rows rows = random_rows(random, 2 * blocks / (8 + most), 8, most);
      const Layout layout = as_list(rows);
      SCOPED_TRACE(testing::Message() << rows.count() << " blocks in rows of 8 to " << most);
      ASSERT_EQ(layout.block_count(), rows.count());
      EXPECT_TRUE(is_list_of_blocks(layout)) << parts_of(layout) << " parts";
      EXPECT_LE(memory_of(layout.root()), static_cast<std::size_t>(4 * rows.count()) + 2 * sizeof(Node));
    }
}

TEST(ShortRows, give_one_tree_in_every_notation) {
  std::int64_t lists = 0, composites = 0;
  for (std::int64_t round = 0; round < rounds(300); ++round) {
    Random random(seed_of(round));
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round));
    // Lengths and numbers of rows about the limits, and now and then blocks that are no row.
    static constexpr std::int64_t kLengths[] = {7, 8, 9, 24, 79, 80, 81, 127, 128, 129};
    const std::int64_t fixed = kLengths[random.in(0, std::size(kLengths) - 1)];
    const bool one_length = random.one_in(3), single_blocks = random.one_in(2);
    const std::int64_t n = random.in(2, std::min<std::int64_t>(4000 / fixed, 40));
    Rows rows;
    for (std::int64_t r = 0; r < n; ++r) {
      rows.add(one_length ? fixed : std::max<std::int64_t>(fixed - random.in(0, 2), 2), random);
      for (std::int64_t i = single_blocks ? random.in(0, 9) : 0; i > 0; --i) rows.add(1, random);
    }
    if (rows.count() > kExpandRuns) continue;
    const std::vector<Layout> all = notations(rows);
    for (std::size_t i = 1; i < all.size(); ++i)
      ASSERT_TRUE(same_memory(all[0], all[i])) << "notation " << i << "\n"
                                               << all[0].to_string() << "\n"
                                               << all[i].to_string();
    lists += is_list_of_blocks(all[0]);
    composites += parts_of(all[0]) > 1;
  }
  if (rounds(300) < 100) return;
  EXPECT_GT(lists, 0);
  EXPECT_GT(composites, 0);
}

TEST(ShortRows, of_more_memory_than_is_written_out_give_one_tree_as_parts_and_as_blocks) {
  for (const std::int64_t most : {24, 100, 150, 300}) {
    Random random(seed_of(most));
    const Rows rows = random_rows(random, 20000 / (8 + most), 8, most);
    ASSERT_GT(rows.count(), kExpandRuns);
    const Layout list = as_list(rows), parts = as_struct(rows);
    EXPECT_TRUE(same_memory(list, parts)) << list.to_string() << "\n" << parts.to_string();
    // The tree as a part of a longer list is folded and opened once more.
    const Rows others = random_rows(random, 40, 8, most);
    const Vec both_at{0, list.true_ub() + 1000};
    const auto with_others = [&](const Layout& first, const Layout& second) {
      return must(Layout::composite(Vec{1, 1}, both_at, std::vector<Layout>{first, second}));
    };
    EXPECT_TRUE(same_memory(with_others(list, as_struct(others)), with_others(parts, as_list(others))));
  }
}

TEST(ShortRows, of_a_struct_stay_parts_until_there_are_many) {
  for (const std::int64_t n : {kManyRows - 1, kManyRows}) {
    Random random(seed_of(0));
    Rows rows;
    for (std::int64_t r = 0; r < n; ++r) rows.add(9 + r, random);
    EXPECT_EQ(parts_of(as_struct(rows)), n < kManyRows ? static_cast<std::size_t>(n) : 1);
    EXPECT_EQ(is_list_of_blocks(as_struct(rows)), n >= kManyRows);
  }
}

TEST(ShortRows, are_blocks_of_a_list_when_more_blocks_are_irregular) {
  for (const std::int64_t irregular : {8, 9, 4000, 5000}) {
    Random random(seed_of(irregular));
    Rows rows;
    for (std::int64_t i = 0; i < irregular; ++i) {
      rows.add(1, random);
      if (i == irregular / 2) rows.add(9, random);
    }
    const Layout layout = as_list(rows);
    EXPECT_EQ(is_list_of_blocks(layout), irregular >= 9) << layout.to_string();
  }
}

TEST(ShortRows, do_not_take_long_rows_with_them) {
  Random random(seed_of(0));
  Rows rows = random_rows(random, 500, 8, 24);
  rows.add(5000, random);
  const Rows more = random_rows(random, 500, 8, 24);
  const std::int64_t shift = rows.at.back() + 16 * rows.blocks.back() + 160;
  for (std::size_t r = 0; r < more.at.size(); ++r) {
    rows.at.push_back(more.at[r] + shift);
    rows.blocks.push_back(more.blocks[r]);
  }
  const Layout layout = as_list(rows);
  ASSERT_EQ(parts_of(layout), 3U) << layout.to_string();
  const Node& middle = *std::get<Composite>(layout.root().form).children[1];
  ASSERT_NE(middle.strided(), nullptr);
  EXPECT_EQ(middle.strided()->count, 5000);
  EXPECT_TRUE(same_memory(layout, as_struct(rows)));
  // Single short rows between long ones would not make fewer parts as lists.
  Rows turns;
  for (int i = 0; i < 50; ++i) {
    turns.add(8 + i % 5, random);
    turns.add(150 + i, random);
  }
  const Layout in_turns = as_list(turns);
  ASSERT_EQ(parts_of(in_turns), 100U);
  for (const NodePtr& child : std::get<Composite>(in_turns.root().form).children)
    EXPECT_NE(child->strided(), nullptr);
}

TEST(ShortRows, are_packed_and_transferred_in_order) {
  for (std::int64_t round = 0; round < rounds(20); ++round) {
    Random random(seed_of(round));
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round));
    const auto type_of = [&] {
      const Rows rows = random_rows(random, kManyRows + 4, 7, random.one_in(2) ? 12 : 140);
      RandomType type{as_struct(rows), {}, "rows"};
      for (std::size_t r = 0; r < rows.at.size(); ++r)
        type.typemap.append(naive::vector(rows.blocks[r], 1, 16, naive::run(8)), rows.at[r]);
      return type;
    };
    const RandomType src = type_of(), dst = type_of();
    check_type(src, random.in(1, 2), random);
    check_transfer(src, random.in(1, 2), dst, random.in(1, 2), random);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace stria::datatype
