// Size and bounds against the naive typemap, refusals, and the corners of MPI's rules.
#include "datatype/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unordered_set>

#include "tests/datatype/random_type.hpp"

namespace stria::datatype {
namespace {

using Vec = std::vector<std::int64_t>;
using testing::HasSubstr;
constexpr std::int64_t kMax = INT64_MAX;

TEST(Layout, has_the_size_and_bounds_of_the_typemap) {
  for (std::int64_t round = 0; round < rounds(40000); ++round) {
    Random random(seed_of(round));
    const RandomType type = random_type(random, static_cast<int>(random.in(0, 4)), 1000);
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << "\n" << type.how);
    ASSERT_EQ(type.layout.size(), static_cast<std::int64_t>(type.typemap.bytes.size()));
    ASSERT_EQ(type.layout.lb(), type.typemap.lb());
    ASSERT_EQ(type.layout.ub(), type.typemap.ub());
    ASSERT_EQ(type.layout.extent(), type.typemap.extent());
    ASSERT_EQ(type.layout.true_lb(), type.typemap.true_lb());
    ASSERT_EQ(type.layout.true_ub(), type.typemap.true_ub());
    if (!type.typemap.bytes.empty()) {
      ASSERT_EQ(type.layout.origin(), type.typemap.bytes.front());
    }
  }
}

TEST(Layout, of_nothing_is_nothing_whoever_built_it) {
  const Layout child = must(Layout::strided(3, 16, Layout::bytes(8)));
  const Layout nothing[] = {Layout(),
                            Layout::bytes(0),
                            must(Layout::contiguous(0, child)),
                            must(Layout::strided(0, 100, child)),
                            must(Layout::vector(5, 0, 64, child)),
                            must(Layout::vector(0, 5, 64, child)),
                            must(Layout::indexed(Vec{}, Vec{}, child)),
                            must(Layout::indexed(Vec{0, 0}, Vec{8, -9}, child)),
                            must(Layout::composite(Vec{0}, Vec{4}, std::vector<Layout>{child})),
                            must(Layout::contiguous(7, Layout()))};
  for (const Layout& layout : nothing) {
    EXPECT_TRUE(layout == nothing[0]) << layout.to_string();
    EXPECT_EQ(layout.size(), 0);
    EXPECT_EQ(layout.extent(), 0);
    EXPECT_EQ(layout.block_count(), 0);
    EXPECT_TRUE(layout.is_contiguous());
  }
}

TEST(Layout, markers_of_a_resized_part_win_over_the_bytes_of_the_others) {
  const Layout marked = must(Layout::resized(Layout::bytes(8), -4, 20));
  const Layout mixed =
      must(Layout::composite(Vec{1, 1}, Vec{0, 100}, std::vector<Layout>{marked, Layout::bytes(8)}));
  EXPECT_EQ(mixed.lb(), -4);
  EXPECT_EQ(mixed.extent(), 20);
  EXPECT_EQ(mixed.true_ub(), 108);
  // A part without bytes still carries its markers.
  const Layout spacer = must(Layout::resized(Layout(), 0, 64));
  const Layout spaced = must(Layout::contiguous(2, spacer));
  EXPECT_EQ(spaced.size(), 0);
  EXPECT_EQ(spaced.extent(), 128);
}

TEST(Layout, refuses_negative_counts_and_unequal_lists_and_names_them) {
  const Layout d = Layout::bytes(8);
  auto context = [](const Result<Layout>& r) {
    EXPECT_FALSE(r.has_value());
    if (r) return std::string("a layout: ") + r->to_string();
    EXPECT_EQ(r.error().status, Status::invalid);
    return r.error().context;
  };
  EXPECT_THAT(context(Layout::contiguous(-3, d)), HasSubstr("-3"));
  EXPECT_THAT(context(Layout::strided(-1, 8, d)), HasSubstr("-1"));
  EXPECT_THAT(context(Layout::vector(2, -7, 8, d)), HasSubstr("-7"));
  EXPECT_THAT(context(Layout::indexed(Vec{1, -5}, Vec{0, 8}, d)), HasSubstr("-5 < 0 in entry 1"));
  EXPECT_THAT(context(Layout::indexed(Vec{1}, Vec{0, 8}, d)),
              HasSubstr("1 block lengths for 2 displacements"));
  EXPECT_THAT(context(Layout::composite(Vec{1, -2}, Vec{0, 8}, std::vector<Layout>{d, d})), HasSubstr("-2"));
  EXPECT_THAT(context(Layout::composite(Vec{1}, Vec{0}, std::vector<Layout>{d, d})), HasSubstr("2 children"));
}

TEST(Layout, refuses_what_leaves_64_bits) {
  const Layout d = Layout::bytes(8);
  const Layout huge = Layout::bytes(kMax);
  const std::vector<Layout> two_huge{huge, huge};
  EXPECT_TRUE(Layout::contiguous(kMax / 8, d).has_value());
  EXPECT_TRUE(Layout::contiguous(1, huge).has_value());
  EXPECT_FALSE(Layout::contiguous(kMax / 8 + 1, d).has_value());
  EXPECT_FALSE(Layout::contiguous(2, huge).has_value());
  EXPECT_FALSE(Layout::strided(2, kMax, d).has_value());
  EXPECT_FALSE(Layout::strided(3, INT64_MIN, d).has_value());
  EXPECT_FALSE(Layout::strided(kMax, 0, d).has_value()) << "the packed size alone leaves 64 bits";
  EXPECT_TRUE(Layout::strided(1, kMax, d).has_value()) << "one element uses no stride";
  EXPECT_FALSE(Layout::vector(kMax / 8, 2, 8, d).has_value());
  EXPECT_FALSE(Layout::indexed(Vec{1}, Vec{kMax - 7}, d).has_value());
  EXPECT_TRUE(Layout::indexed(Vec{1}, Vec{kMax - 8}, d).has_value());
  EXPECT_FALSE(Layout::indexed(Vec{1, 1}, Vec{-8, kMax - 8}, d).has_value()) << "the span leaves 63 bits";
  EXPECT_FALSE(Layout::composite(Vec{1, 1}, Vec{0, 0}, two_huge).has_value());
  EXPECT_FALSE(Layout::resized(d, 1, kMax).has_value());
  EXPECT_FALSE(Layout::resized(d, -2, INT64_MIN).has_value());
  const Layout apart = must(Layout::resized(d, 0, kMax / 2));
  EXPECT_TRUE(Layout::contiguous(2, apart).has_value());
  EXPECT_FALSE(Layout::contiguous(4, apart).has_value());
  const Layout spacer = must(Layout::resized(Layout(), 0, kMax / 2));
  EXPECT_FALSE(Layout::contiguous(4, spacer).has_value()) << "bounds without bytes";
}

TEST(Layout, holds_types_of_huge_counts) {
  const std::int64_t n = std::int64_t{1} << 40;
  const Layout column = must(Layout::strided(n, 1 << 20, Layout::bytes(8)));
  EXPECT_EQ(column.size(), n * 8);
  EXPECT_EQ(column.true_ub(), (n - 1) * (1 << 20) + 8);
  EXPECT_EQ(column.block_count(), n);
  const auto reach = column.reach(1);
  ASSERT_TRUE(reach.has_value());
  EXPECT_EQ(reach->high, column.true_ub());
  EXPECT_FALSE(column.reach(std::int64_t{1} << 21).has_value());
  EXPECT_FALSE(column.reach(-1).has_value());
  ASSERT_TRUE(column.reach(0).has_value());
  EXPECT_EQ(column.reach(0)->high, 0);
}

TEST(Layout, random_extreme_values_never_wrap_unnoticed) {
  // Values from the edges of the range; whatever is accepted must agree with 128-bit arithmetic.
  using Wide = __int128;
  const std::int64_t edges[] = {0,
                                1,
                                -1,
                                2,
                                3,
                                8,
                                -8,
                                4096,
                                INT64_MAX,
                                INT64_MIN,
                                INT64_MAX / 2,
                                INT64_MIN / 2,
                                INT64_MAX - 8,
                                std::int64_t{1} << 32,
                                -(std::int64_t{1} << 31),
                                std::int64_t{1} << 61};
  for (std::int64_t round = 0; round < rounds(20000); ++round) {
    Random random(seed_of(round));
    auto pick = [&] { return edges[random.in(0, std::size(edges) - 1)]; };
    const std::int64_t bytes = std::max<std::int64_t>(1, pick() & INT64_MAX);
    const std::int64_t count = pick(), stride = pick(), at = pick(), lb = pick(), extent = pick();
    SCOPED_TRACE(testing::Message() << "seed " << seed_of(round) << " bytes " << bytes << " count " << count
                                    << " stride " << stride << " at " << at << " lb " << lb << " extent "
                                    << extent);
    Result<Layout> made = Layout::strided(count, stride, Layout::bytes(bytes));
    if (!made || count == 0) continue;
    ASSERT_EQ(Wide{made->size()}, Wide{count} * bytes);
    ASSERT_EQ(Wide{made->true_ub()} - made->true_lb(),
              (count - Wide{1}) * (stride < 0 ? -Wide{stride} : Wide{stride}) + bytes);
    Result<Layout> sized = Layout::resized(*made, lb, extent);
    if (!sized) continue;
    Result<Layout> placed = Layout::indexed(Vec{1, 2}, Vec{at, stride}, *sized);
    if (!placed) continue;
    ASSERT_EQ(Wide{placed->size()}, Wide{3} * made->size());
    const Wide lows[] = {Wide{at} + made->true_lb(), Wide{stride} + made->true_lb(),
                         Wide{stride} + extent + made->true_lb()};
    ASSERT_EQ(Wide{placed->true_lb()}, std::min({lows[0], lows[1], lows[2]}));
  }
}

TEST(Layout, is_a_value_that_can_be_copied_compared_and_hashed) {
  std::unordered_set<Layout> set;
  const Layout a = must(Layout::strided(4, 16, Layout::bytes(8)));
  Layout b = a;
  set.insert(a);
  set.insert(b);
  set.insert(must(Layout::vector(4, 1, 16, Layout::bytes(8))));
  EXPECT_EQ(set.size(), 1U);
  b = Layout::bytes(3);
  set.insert(b);
  EXPECT_EQ(set.size(), 2U);
  EXPECT_EQ(a.to_string(), "strided(4, 16, block(8)), lb 0, extent 56");
}

/// Long lists of blocks are written as arrays at once, in the width that fits: as narrow as from pieces.
TEST(Layout, keeps_long_lists_in_32_bits_where_all_offsets_fit) {
  const std::int64_t n = 6000;
  const Layout child =
      *Layout::resized(*Layout::indexed_block(1, std::vector<std::int64_t>{16}, Layout::bytes(8)), 0, 8);
  auto places = [&](std::int64_t step, std::int64_t first) {
    std::vector<std::int64_t> at;
    // Of a period that is longer than what is rolled (repetition.hpp).
    for (std::int64_t i = 0; i < n; ++i) at.push_back(first + i * step + (i * i % 37) * 4);
    return at;
  };
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < n; ++i) lengths.push_back(1 + i * i % 5);

  // An entry without blocks may stand where no block could.
  std::vector<std::int64_t> with = lengths, at = places(200, -5), with_at = at;
  with.insert(with.begin() + 7, 0);
  with_at.insert(with_at.begin() + 7, INT64_MAX);
  EXPECT_EQ(*Layout::indexed(with, with_at, child), *Layout::indexed(lengths, at, child));

  const Layout near = *Layout::indexed(lengths, at, child);
  const auto& narrow = *std::get_if<Blocks>(&near.root().form);
  EXPECT_TRUE(narrow.displacements.is_narrow() && narrow.starts.is_narrow());
  const Layout far = *Layout::indexed(lengths, places(1 << 20, 0), child);
  const auto& wide = *std::get_if<Blocks>(&far.root().form);
  EXPECT_FALSE(wide.displacements.is_narrow() || wide.starts.is_narrow());
  // Blocks that overlap: the sum of their lengths needs 64 bits, their places do not.
  const Layout large = *Layout::indexed_block(1, at, Layout::bytes(1 << 20));
  EXPECT_EQ(large.size(), n << 20);
  EXPECT_TRUE(std::get_if<Indexed>(&large.root().form)->displacements.is_narrow());
}

}  // namespace
}  // namespace stria::datatype
