// Which last-level cache a core has, by what the system says of it and when it is asked.
#include "hw/last_cache.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <stdexcept>

namespace stria::hw {
namespace {

TEST(LastCacheNumber, is_the_same_for_all_that_share_it) {
  const Neighbours first{{0, 4}, {0, 1, 4, 5}}, second{{2, 6}, {2, 3, 6, 7}};
  EXPECT_EQ(number_of_cache(first, false), number_of_cache({{1, 5}, {0, 1, 4, 5}}, false));
  EXPECT_NE(number_of_cache(first, false), number_of_cache(second, false));
  EXPECT_NE(number_of_cache(first, false), kNoCache);
}

TEST(LastCacheNumber, is_none_where_the_system_does_not_tell_or_cannot_know) {
  EXPECT_EQ(number_of_cache({{0}, {}}, false), kNoCache);
  EXPECT_EQ(number_of_cache({{0}, {0, 1}}, true), kNoCache) << "a virtual machine says what it was told to";
}

TEST(LastCache, is_asked_for_again_only_when_the_thread_has_moved) {
  cpu_set_t before, here;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&here);
  CPU_SET(::sched_getcpu(), &here);
  ASSERT_EQ(::sched_setaffinity(0, sizeof here, &here), 0);
  static unsigned asked, number;
  asked = 0, number = 7;
  LastCache cache([](unsigned) {
    ++asked;
    return number;
  });
  EXPECT_TRUE(cache.has_changed());
  EXPECT_EQ(cache.number(), 7u);
  number = 8;
  EXPECT_FALSE(cache.has_changed());
  EXPECT_EQ(cache.number(), 7u);
  EXPECT_EQ(asked, 1u);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &before) || CPU_ISSET(processor, &here)) continue;
    CPU_ZERO(&here);
    CPU_SET(processor, &here);
    ASSERT_EQ(::sched_setaffinity(0, sizeof here, &here), 0);
    EXPECT_TRUE(cache.has_changed());
    EXPECT_EQ(cache.number(), 8u);
    break;
  }
  ::sched_setaffinity(0, sizeof before, &before);
}

TEST(LastCache, is_none_while_asking_fails) {
  LastCache cache([](unsigned) -> std::uint32_t { throw std::runtime_error("no memory"); });
  EXPECT_FALSE(cache.has_changed());
  EXPECT_EQ(cache.number(), kNoCache);
}

}  // namespace
}  // namespace stria::hw
