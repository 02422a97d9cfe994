// When messages are a burst: others before them, and no poll between.
#include "transport/shm/burst.hpp"

#include <gtest/gtest.h>

namespace stria::shm {
namespace {

TEST(ShmBurst, begins_anew_with_each_poll) {
  Burst burst;
  for (std::uint32_t round = 1; round < 4; ++round)
    for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(burst.goes_on(round, 3), i >= 3) << round << ", " << i;
}

}  // namespace
}  // namespace stria::shm
