// Where loops over short blocks let fewer misses begin. What that is worth was measured
// (docs/notebook/kernels.md); here is what was concluded.
#include <gtest/gtest.h>

#include "datatype/kernels/strided.hpp"

namespace stria::datatype::kernel {
namespace {

constexpr bool kRead = true, kWritten = false;

constexpr auto kFew = Pacing::few, kMany = Pacing::many;

bool is_paced(std::int64_t stride, std::int64_t count, Pacing pacing) {
  return fillers_for(stride, count, kRead, pacing) > 0 || fillers_for(stride, count, kWritten, pacing) > 0;
}

class PaceTest : public testing::TestWithParam<Pacing> {};
INSTANTIATE_TEST_SUITE_P(Pacings, PaceTest, testing::Values(kFew, kMany));

TEST_P(PaceTest, is_for_lines_that_crowd_in_few_sets) {
  for (const std::int64_t stride : {8, 24, 520, 4104, 100000})
    for (const std::int64_t count : {1, 100, 100000})
      EXPECT_FALSE(is_paced(stride, count, GetParam())) << stride;
  for (const std::int64_t stride : {4096, -4096, 8192, 12288, 32768}) {
    EXPECT_FALSE(is_paced(stride, 8, GetParam())) << "they all stay";
    for (const std::int64_t count : {9, 256, 1024, 100000}) {
      EXPECT_GT(fillers_for(stride, count, kRead, GetParam()), 0) << stride;
      EXPECT_GT(fillers_for(stride, count, kWritten, GetParam()), 0) << stride;
    }
  }
}

// The processor fetches those ahead: a face of 128^3 doubles, packed in steps of 1024, took twice the time.
TEST(Pace, is_not_for_long_lists_of_elements_that_share_a_page) {
  for (const std::int64_t stride : {512, 1024, 1536, 3072, -1024})
    for (const std::int64_t count : {1024, 16384}) {
      EXPECT_FALSE(is_paced(stride, count, kFew)) << stride;
      EXPECT_EQ(fillers_for(stride, count, kRead, kMany), 0) << stride;
      EXPECT_EQ(fillers_for(stride, count, kWritten, kMany), 0) << stride;
    }
}

// Columns of 640 and 1920 doubles, a quarter of each.
TEST(Pace, of_elements_in_pages_of_their_own_is_for_many) {
  for (const Pacing pacing : {kFew, kMany}) {
    EXPECT_EQ(fillers_for(5120, 160, kRead, pacing), 0);
    EXPECT_GT(fillers_for(15360, 480, kRead, pacing), 0);
  }
}

TEST(Pace, can_be_off) {
  for (const std::int64_t stride : {4096, 8192, 2048, 15360})
    EXPECT_FALSE(is_paced(stride, 1024, Pacing::off));
}

}  // namespace
}  // namespace stria::datatype::kernel
