// What a layout says of itself to people: the kernel that packs it, by shape.
#include "datatype/describe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
