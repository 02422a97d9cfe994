#include "base/fits.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <cstdint>

#include "base/cache_line.hpp"

namespace stria {
namespace {

TEST(Fits, asks_for_the_value_and_not_for_the_bits) {
  EXPECT_TRUE(fits<std::uint16_t>(65535));
  EXPECT_FALSE(fits<std::uint16_t>(65536));
  EXPECT_FALSE(fits<std::uint16_t>(-1));
  EXPECT_TRUE(fits<std::int8_t>(-128));
  EXPECT_FALSE(fits<std::int8_t>(128u));
  EXPECT_FALSE(fits<std::int64_t>(UINT64_MAX));
  EXPECT_TRUE(fits<std::uint64_t>(INT64_MAX));
}

TEST(Fits, overflow_is_told_and_the_result_is_right_without) {
  long long out = 0;
  EXPECT_FALSE(mul_overflows(1ll << 31, 1ll << 31, &out));
  EXPECT_EQ(out, 1ll << 62);
  EXPECT_TRUE(mul_overflows(1ll << 32, 1ll << 31, &out));
  EXPECT_TRUE(mul_overflows(LLONG_MIN, -1, &out));
}

TEST(CacheLine, align_up_rounds_to_the_next_multiple) {
  EXPECT_EQ(align_up(0, 64), 0u);
  EXPECT_EQ(align_up(1, 64), 64u);
  EXPECT_EQ(align_up(64, 64), 64u);
  EXPECT_EQ(align_up(65, 64), 128u);
}

}  // namespace
}  // namespace stria
