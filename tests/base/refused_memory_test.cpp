// How often memory that was refused is asked for again, and that other memory is asked for each time.
#include "base/refused_memory.hpp"

#include <gtest/gtest.h>

namespace stria {
namespace {

/// Of so many uses of memory that is always refused: the attempts.
unsigned attempts(RefusedMemory& refused, unsigned uses) {
  unsigned out = 0;
  for (unsigned i = 0; i < uses; ++i) {
    if (!refused.allow(1000, 2000, false)) continue;
    ++out;
    refused.refused(1000, 2000, false);
  }
  return out;
}

TEST(RefusedMemory, that_is_always_refused_costs_one_attempt_in_65_uses) {
  RefusedMemory refused;
  // 1, 2, 4, 8, 16, 32 and 64 uses pass it over after the first seven attempts.
  EXPECT_EQ(attempts(refused, 7 + 127), 7u);
  EXPECT_EQ(attempts(refused, 65 * 10), 10u);
}

TEST(RefusedMemory, that_works_again_is_forgotten) {
  RefusedMemory refused;
  EXPECT_LT(attempts(refused, 100), 10u);
  unsigned passed_over = 0;
  while (!refused.allow(1000, 2000, false)) ++passed_over;
  EXPECT_LE(passed_over, Backoff::kMost);
  refused.worked(1000, 2000, false);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(refused.allow(1000, 2000, false));
  refused.refused(1000, 2000, false);
  EXPECT_FALSE(refused.allow(1000, 2000, false));
  EXPECT_TRUE(refused.allow(1000, 2000, false)) << "it begins anew";
}

TEST(RefusedMemory, of_several_uses_that_were_allowed_together_counts_once) {
  RefusedMemory refused;
  for (int i = 0; i < 50; ++i) refused.refused(1000, 2000, false);
  EXPECT_FALSE(refused.allow(1000, 2000, false));
  EXPECT_TRUE(refused.allow(1000, 2000, false));
}

TEST(RefusedMemory, is_known_by_each_of_its_bytes_and_by_the_right_that_was_asked_for) {
  RefusedMemory refused;
  refused.refused(1000, 2000, true);
  EXPECT_TRUE(refused.allow(500, 1000, true)) << "the range before";
  EXPECT_TRUE(refused.allow(2000, 3000, true)) << "the range behind";
  EXPECT_TRUE(refused.allow(1000, 2000, false)) << "reads alone";
  EXPECT_FALSE(refused.allow(1999, 2500, true));
  EXPECT_TRUE(refused.allow(1999, 2500, true)) << "after one that was passed over";
  refused.refused(1500, 1600, true);
  refused.worked(1500, 1600, true);
  EXPECT_TRUE(refused.allow(1000, 2000, true));
}

TEST(RefusedMemory, takes_the_place_of_the_oldest_where_there_is_much_of_it) {
  RefusedMemory refused;
  for (std::uintptr_t at = 1; at <= 100; ++at) refused.refused(at * 1000, at * 1000 + 1, false);
  EXPECT_TRUE(refused.allow(1000, 1001, false));
  EXPECT_FALSE(refused.allow(100000, 100001, false));
  for (std::uintptr_t at = 1; at <= 100; ++at) refused.worked(at * 1000, at * 1000 + 1, false);
  EXPECT_TRUE(refused.allow(100000, 100001, false));
}

}  // namespace
}  // namespace stria
