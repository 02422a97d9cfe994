// When messages are a burst: others before them, no poll between, and not too much time.
#include "transport/shm/burst.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace stria::shm {
namespace {

TEST(ShmBurst, begins_anew_with_each_poll) {
  Burst burst;
  for (std::uint32_t round = 1; round < 4; ++round)
    for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(burst.goes_on(round, 3), i >= 3) << round << ", " << i;
}

class ShmPacedBurst : public ::testing::Test {
 protected:
  ShmPacedBurst() {
    // The first of them say only when they came.
    for (std::uint32_t i = 0; i < 3 * Burst::kEvery; ++i, std::this_thread::sleep_for(2 * Burst::kPace))
      goes_on_ = burst_.goes_on(1, 1);
  }
  Burst burst_;
  bool goes_on_ = true;
};

TEST_F(ShmPacedBurst, is_none) {
  EXPECT_FALSE(goes_on_);
}

TEST_F(ShmPacedBurst, is_one_again_when_its_sender_is_in_a_hurry) {
  // A busy machine may make it late, more than once.
  for (std::uint32_t i = 0; i < 1000 * Burst::kEvery && !goes_on_; ++i) goes_on_ = burst_.goes_on(1, 1);
  EXPECT_TRUE(goes_on_);
}

TEST_F(ShmPacedBurst, is_one_again_behind_a_poll) {
  EXPECT_FALSE(burst_.goes_on(2, 1));
  EXPECT_TRUE(burst_.goes_on(2, 1));
}

}  // namespace
}  // namespace stria::shm
