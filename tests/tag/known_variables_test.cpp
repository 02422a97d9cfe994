// The variables of the whole library, as they are put together.
#include "tag/known_variables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

#include "stria/stria.h"
#include "tag/api/builtins.hpp"
#include "tag/settings.hpp"
#include "transport/providers.hpp"

namespace stria::tag {
namespace {

std::set<std::string> names_of(const VariableGroups& groups) {
  std::set<std::string> names;
  for (const Variables group : groups)
    for (const Variable& variable : group)
      EXPECT_TRUE(names.insert(variable.name).second) << variable.name << " twice";
  return names;
}

TEST(KnownVariables, are_complete_in_every_group) {
  for (const Variables group : known_variables(builtin_providers())) {
    const auto checked = check_variables(group, "STRIA_");
    EXPECT_TRUE(checked.has_value()) << checked.error().context;
  }
}

TEST(KnownVariables, are_those_of_the_rooms_and_of_the_providers_that_are_built_in) {
  const std::set<std::string> names = names_of(known_variables(builtin_providers()));
  for (const char* name : {"STRIA_LOG", "STRIA_PROVIDERS", "STRIA_EAGER_LIMIT", "STRIA_RNDV_SCHEME",
                           "STRIA_SHM_CELLS", "STRIA_FAKE_SEED"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_EQ(names_of(known_variables({})).count("STRIA_SHM_CELLS"), 0u) << "it is the provider's";
}

TEST(KnownVariables, of_a_provider_begin_with_its_name) {
  EXPECT_EQ(transport::variable_prefix("shm"), "STRIA_SHM_");
  EXPECT_EQ(transport::variable_prefix("my-net2"), "STRIA_MY_NET2_");
  for (const stria_provider_t* provider : builtin_providers()) {
    const auto checked = check_variables({provider->variables, provider->variable_count},
                                         transport::variable_prefix(provider->name));
    EXPECT_TRUE(checked.has_value()) << checked.error().context;
    EXPECT_GT(provider->variable_count, 0u);
  }
}

TEST(KnownVariables, of_users_are_about_a_dozen) {
  std::size_t users = 0;
  for (const Variables group : known_variables(builtin_providers()))
    for (const Variable& variable : group) users += variable.level == STRIA_CONFIG_USER ? 1 : 0;
  EXPECT_GE(users, 8u);
  EXPECT_LE(users, 14u);
}

TEST(KnownVariables, have_the_level_that_the_interface_tells) {
  for (size_t i = 0; i < stria_config_count(); ++i) {
    stria_config_variable_t variable{};
    ASSERT_EQ(stria_config_get(i, &variable), STRIA_OK);
    if (std::string_view(variable.name) == "STRIA_LOG") {
      EXPECT_EQ(stria_config_level(i), STRIA_CONFIG_USER);
    }
    if (std::string_view(variable.name) == "STRIA_SHM_CELLS") {
      EXPECT_EQ(stria_config_level(i), STRIA_CONFIG_EXPERT);
    }
  }
  EXPECT_EQ(stria_config_level(stria_config_count()), STRIA_CONFIG_EXPERT);
}

TEST(Settings, are_what_the_variables_say) {
  Config config(known_variables(builtin_providers()));
  const Settings usual = read_settings(config);
  EXPECT_EQ(usual.eager_limit, 256u << 10);
  EXPECT_TRUE(usual.overlaps_packing);
  EXPECT_TRUE(usual.copies_own);
  EXPECT_EQ(usual.liveness, std::chrono::milliseconds(500));
  EXPECT_FALSE(usual.rndv.fragment_fixed);
  for (const auto& [name, value] : {std::pair{"STRIA_EAGER_LIMIT", "8K"},
                                    {"STRIA_SELF_COPY", "off"},
                                    {"STRIA_UNEXPECTED_BUDGET", "2M"},
                                    {"STRIA_CLOSE_TIMEOUT_MS", "7"},
                                    {"STRIA_LIVENESS_MS", "9"},
                                    {"STRIA_WAIT_SPIN_US", "3"},
                                    {"STRIA_RNDV_SCHEME", "get"},
                                    {"STRIA_RNDV_FRAGMENT", "4K"},
                                    {"STRIA_RNDV_PULL_SLICE", "8K"},
                                    {"STRIA_RNDV_PATIENCE", "11"},
                                    {"STRIA_RNDV_FLOWS", "on"},
                                    {"STRIA_RNDV_SHARE", "off"}})
    ASSERT_TRUE(config.set(name, value, "test").has_value()) << name;
  const Settings given = read_settings(config);
  EXPECT_EQ(given.eager_limit, 8192u);
  EXPECT_FALSE(given.overlaps_packing);
  EXPECT_FALSE(given.copies_own);
  EXPECT_EQ(given.unexpected_budget, 2u << 20);
  EXPECT_EQ(given.close_timeout, std::chrono::milliseconds(7));
  EXPECT_EQ(given.liveness, std::chrono::milliseconds(9));
  EXPECT_EQ(given.wait_spin, std::chrono::microseconds(3));
  EXPECT_EQ(given.rndv.force, rndv::Force::get);
  EXPECT_EQ(given.rndv.fragment_bytes, 4096u);
  EXPECT_TRUE(given.rndv.fragment_fixed);
  EXPECT_EQ(given.rndv.pull_slice, 8192u);
  EXPECT_EQ(given.rndv.patience_us, 11u);
  EXPECT_TRUE(given.rndv.flows);
  EXPECT_FALSE(given.rndv.copy_by_both);
}

}  // namespace
}  // namespace stria::tag
