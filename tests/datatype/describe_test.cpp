// What a layout says of itself to people: the kernel that packs it, by shape.
#include "datatype/describe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/datatype/random_type.hpp"

namespace stria::datatype {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Vec = std::vector<std::int64_t>;

TEST(Describe, names_the_kernel_of_each_shape) {
  const Layout d = Layout::bytes(8);
  const auto column = [&](std::int64_t n) { return must(Layout::strided(n, n * 8, d)); };
  EXPECT_THAT(kernel_of(d), StartsWith("one copy"));
  EXPECT_THAT(kernel_of(column(500)), StartsWith("loop over blocks of 8 bytes ("));
  EXPECT_THAT(kernel_of(column(512)), StartsWith("loop over blocks of 8 bytes, paced ("));
  EXPECT_THAT(kernel_of(must(Layout::strided(512, 8, column(512)))),
              StartsWith("squares of blocks of 8 bytes, turned"));
  EXPECT_THAT(kernel_of(must(Layout::strided(100, 100000, must(Layout::strided(100, 24, d))))),
              StartsWith("two loops over blocks of 8 bytes ("));
  const Layout pair = must(Layout::indexed_block(1, Vec{0, 400}, d));
  EXPECT_THAT(kernel_of(must(Layout::strided(100, 1000, pair))), HasSubstr("elements of 2 runs"));
  EXPECT_THAT(kernel_of(must(Layout::indexed_block(1, Vec{0, 40, 100}, d))),
              StartsWith("list of blocks of 8 bytes"));
  EXPECT_THAT(kernel_of(must(Layout::indexed(Vec{1, 2, 1}, Vec{0, 40, 100}, d))),
              StartsWith("list of blocks of any length"));
  Vec lengths(40, 3), places;
  std::fill_n(lengths.begin(), 20, 1);
  for (std::int64_t i = 0; i < 40; ++i) places.push_back((20 * i + i * i % 7) * 8);
  EXPECT_THAT(kernel_of(must(Layout::indexed(lengths, places, d))),
              StartsWith("list of blocks, 2 stretches of one length"));
}

TEST(Describe, names_the_kernels_of_the_parts_of_a_composite_by_kind_and_number) {
  const Layout d = Layout::bytes(8);
  const auto column = [&](std::int64_t n, std::int64_t stride) {
    return must(Layout::strided(n, stride, d));
  };
  EXPECT_THAT(kernels_of_parts(column(500, 4000)), testing::IsEmpty());
  const std::vector<Layout> kinds{column(500, 4000), Layout::bytes(100), column(60, 4096), column(300, 5000)};
  const Layout parts = must(Layout::composite(Vec{1, 1, 1, 1}, Vec{0, 1 << 21, 1 << 22, 1 << 23}, kinds));
  EXPECT_THAT(kernel_of(parts), StartsWith("part by part, 4 parts ("));
  EXPECT_THAT(kernels_of_parts(parts),
              testing::ElementsAre("2 parts: loop over blocks of 8 bytes", "1 part: one copy",
                                   "1 part: loop over blocks of 8 bytes, paced"));
  // Levels that are walked have the parts of what they repeat; a part that has parts has them below it.
  EXPECT_EQ(kernels_of_parts(must(Layout::strided(100000, 1 << 24, parts))), kernels_of_parts(parts));
  const Layout thrice = must(Layout::strided(100000, 1 << 24, parts));
  const Layout nested = must(Layout::composite(Vec{1, 1}, Vec{0, 1 << 23}, std::vector{d, thrice}));
  EXPECT_THAT(
      kernels_of_parts(nested),
      testing::ElementsAre("1 part: one copy", "1 part: walk of 100000 elements, each part by part, 4 parts",
                           "  2 parts: loop over blocks of 8 bytes", "  1 part: one copy",
                           "  1 part: loop over blocks of 8 bytes, paced"));
}

TEST(Describe, counts_the_kinds_of_parts_that_are_too_many_to_be_named) {
  std::vector<Layout> kinds;
  Vec places;
  for (std::int64_t i = 0; i < 30; ++i) {
    kinds.push_back(must(Layout::strided(20 + i % 3, 200, Layout::bytes(1 + i % 10))));
    places.push_back(i * 10000);
  }
  const auto said = kernels_of_parts(must(Layout::composite(Vec(30, 1), places, kinds)));
  ASSERT_EQ(said.size(), kShownKinds + 1);
  EXPECT_EQ(said.front(), "3 parts: loop over blocks of 1 bytes");
  EXPECT_EQ(said.back(), "12 parts of 4 more kinds");
}

TEST(Describe, has_a_line_for_tree_size_kernel_and_descriptor) {
  const std::string text = describe(must(Layout::strided(512, 4096, Layout::bytes(8))));
  EXPECT_THAT(text, StartsWith("strided(512, 4096, block(8)), lb 0, extent 2093064\n"));
  EXPECT_THAT(text, HasSubstr("\nsize: 4096 bytes in 512 blocks\n"));
  EXPECT_THAT(text, HasSubstr("\nkernel: loop over blocks of 8 bytes"));
  EXPECT_THAT(text, HasSubstr("\nwire descriptor: 15 bytes\n"));
  for (std::int64_t round = 0; round < rounds(300); ++round) {
    Random random(seed_of(round));
    const RandomType type = random_type(random, 4, 2000);
    EXPECT_THAT(describe(type.layout), HasSubstr("kernel: ")) << type.how;
  }
}

}  // namespace
}  // namespace stria::datatype
