// When messages are a row: others before them, no look between, and not too much time.
#include "transport/shm/row.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace stria::shm {
namespace {

TEST(ShmRow, begins_anew_with_each_look) {
  Row row;
  for (std::uint32_t round = 1; round < 4; ++round)
    for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(row.goes_on(round, 3), i >= 3) << round << ", " << i;
}

class ShmPacedRow : public ::testing::Test {
 protected:
  ShmPacedRow() {
    // The first of them say only when they came.
    for (std::uint32_t i = 0; i < 3 * Row::kEvery; ++i, std::this_thread::sleep_for(2 * Row::kPace))
      goes_on_ = row_.goes_on(1, 1);
  }
  Row row_;
  bool goes_on_ = true;
};

TEST_F(ShmPacedRow, is_none) {
  EXPECT_FALSE(goes_on_);
}

TEST_F(ShmPacedRow, is_one_again_when_its_sender_is_in_a_hurry) {
  // A busy machine may make it late, more than once.
  for (std::uint32_t i = 0; i < 1000 * Row::kEvery && !goes_on_; ++i) goes_on_ = row_.goes_on(1, 1);
  EXPECT_TRUE(goes_on_);
}

TEST_F(ShmPacedRow, is_one_again_behind_a_look) {
  EXPECT_FALSE(row_.goes_on(2, 1));
  EXPECT_TRUE(row_.goes_on(2, 1));
}

}  // namespace
}  // namespace stria::shm
