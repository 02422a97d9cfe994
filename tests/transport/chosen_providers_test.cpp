// What STRIA_PROVIDERS stands for.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "transport/providers.hpp"

namespace stria::transport {
namespace {

/// As a list; those that `auto` stands for in brackets.
std::string choose(std::string_view list, const std::set<std::string_view>& there) {
  std::string text;
  for (const auto& [name, by_auto] :
       chosen_providers(list, [&](std::string_view name) { return there.contains(name); }))
    text += (text.empty() ? "" : " ") + (by_auto ? "[" + name + "]" : name);
  return text;
}

TEST(ChosenProviders, are_those_that_are_named_in_their_order) {
  EXPECT_EQ(choose("shm,uct", {}), "shm uct");
  EXPECT_EQ(choose(",b,,a,", {"shm", "tcp"}), "b a");
  EXPECT_EQ(choose("", {"shm"}), "");
}

TEST(ChosenProviders, by_auto_are_those_that_there_are_best_first) {
  EXPECT_EQ(choose("auto", {}), "");
  EXPECT_EQ(choose("auto", {"tcp", "uct", "fake"}), "[tcp]");
  EXPECT_EQ(choose("auto", {"tcp", "verbs", "shm"}), "[shm] [verbs] [tcp]");
}

TEST(ChosenProviders, that_are_named_beside_auto_are_named_by_the_user) {
  EXPECT_EQ(choose("tcp,auto", {"tcp", "verbs"}), "tcp [verbs]");
  EXPECT_EQ(choose("auto,uct", {"tcp", "verbs"}), "[verbs] [tcp] uct");
}

}  // namespace
}  // namespace stria::transport
