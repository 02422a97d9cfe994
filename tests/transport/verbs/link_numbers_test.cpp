// Numbers of links: each in use once at a time, and known from its earlier uses.
#include "transport/verbs/link_numbers.hpp"

#include <gtest/gtest.h>

#include <map>

namespace stria::verbs {
namespace {

TEST(LinkNumbers, are_each_in_use_once_and_below_their_limit) {
  constexpr std::uint32_t kMost = 100;
  LinkNumbers numbers(kMost);
  std::map<std::uint32_t, LinkNumber> used;
  for (std::uint32_t i = 0; i < kMost; ++i) {
    const auto one = numbers.take();
    ASSERT_TRUE(one.has_value());
    EXPECT_LT(one->number, kMost);
    EXPECT_TRUE(used.emplace(one->number, *one).second);
  }
  EXPECT_EQ(numbers.in_use(), kMost);
  EXPECT_FALSE(numbers.take().has_value());
  numbers.give(used.at(17));
  EXPECT_EQ(numbers.in_use(), kMost - 1);
  const auto again = numbers.take();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->number, 17u) << "the only one that is free";
  EXPECT_FALSE(numbers.take().has_value());
}

TEST(LinkNumbers, have_another_generation_at_each_use) {
  LinkNumbers numbers(4);
  LinkNumber last = *numbers.take();
  for (int i = 0; i < 600; ++i) {
    numbers.give(last);
    const LinkNumber next = *numbers.take();
    EXPECT_EQ(next.number, last.number);
    EXPECT_NE(next.generation, last.generation);
    last = next;
  }
}

}  // namespace
}  // namespace stria::verbs
