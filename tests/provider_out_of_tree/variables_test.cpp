// A variable that a provider outside the tree brings, by the library's interface. The environment names the
// provider and the folder (CMakeLists.txt).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stria/stria.h"

namespace {

using testing::HasSubstr;
constexpr const char* kName = "STRIA_SOCKET_EAGER_BYTES";

/// The names of all variables, in their order.
std::vector<std::string> names() {
  std::vector<std::string> found;
  for (size_t i = 0; i < stria_config_count(); ++i) {
    stria_config_variable_t variable{};
    EXPECT_EQ(stria_config_get(i, &variable), STRIA_OK) << stria_last_error();
    found.emplace_back(variable.name == nullptr ? "" : variable.name);
  }
  return found;
}

size_t index_of(const char* name) {
  const std::vector<std::string> all = names();
  const auto place = std::find(all.begin(), all.end(), name);
  EXPECT_NE(place, all.end()) << name;
  return static_cast<size_t>(place - all.begin());
}

TEST(LoadedProvider, has_its_variable_listed_behind_all_others) {
  EXPECT_EQ(names().back(), kName);
  stria_config_variable_t variable{};
  ASSERT_EQ(stria_config_get(index_of(kName), &variable), STRIA_OK);
  EXPECT_STREQ(variable.value, "16K");
  EXPECT_STREQ(variable.default_value, "16K");
  EXPECT_STREQ(variable.unit, "bytes");
  EXPECT_STREQ(variable.origin, "default");
  EXPECT_THAT(variable.meaning, HasSubstr("Longest payload"));
  EXPECT_EQ(stria_config_level(index_of(kName)), STRIA_CONFIG_EXPERT);
}

TEST(LoadedProvider, has_its_values_checked_and_its_range_named) {
  EXPECT_EQ(stria_config_set(kName, "100", "test"), STRIA_ERR_INVALID);
  EXPECT_THAT(stria_last_error(),
              testing::AllOf(HasSubstr(kName), HasSubstr("[1024, 65536]"), HasSubstr("16K")));
  EXPECT_EQ(stria_config_set(kName, "long", "test"), STRIA_ERR_INVALID);
  EXPECT_EQ(stria_config_set("STRIA_SOCKET_EAGER", "2K", "test"), STRIA_ERR_INVALID);
}

TEST(LoadedProvider, gets_what_was_set) {
  ASSERT_EQ(stria_config_set(kName, "2K", "test"), STRIA_OK) << stria_last_error();
  stria_config_variable_t variable{};
  ASSERT_EQ(stria_config_get(index_of(kName), &variable), STRIA_OK);
  EXPECT_STREQ(variable.value, "2K");
  EXPECT_STREQ(variable.origin, "test");
  stria_context_t* context = nullptr;
  stria_worker_t* worker = nullptr;
  stria_worker_params_t worker_params{};
  worker_params.size = sizeof worker_params;
  ASSERT_EQ(stria_context_open(nullptr, &context), STRIA_OK) << stria_last_error();
  ASSERT_EQ(stria_worker_open(context, &worker_params, &worker), STRIA_OK) << stria_last_error();
  std::vector<char> address(STRIA_ADDRESS_MAX);
  size_t bytes = address.size();
  ASSERT_EQ(stria_worker_address(worker, address.data(), &bytes), STRIA_OK) << stria_last_error();
  stria_endpoint_params_t params{};
  params.size = sizeof params;
  params.address = address.data();
  params.address_bytes = bytes;
  stria_endpoint_t* endpoint = nullptr;
  ASSERT_EQ(stria_endpoint_open(worker, &params, &endpoint), STRIA_OK) << stria_last_error();
  ASSERT_EQ(stria_endpoint_connect(endpoint), STRIA_OK) << stria_last_error();
  stria_endpoint_state_t state{};
  state.size = sizeof state;
  EXPECT_EQ(stria_endpoint_info(endpoint, &state), STRIA_OK);
  EXPECT_STREQ(state.provider, "socket");
  EXPECT_EQ(state.eager_limit, 2048u);
  stria_endpoint_close(endpoint);
  stria_worker_close(worker);
  stria_context_close(context);
  EXPECT_EQ(stria_config_set(kName, "16K", "test"), STRIA_OK);
}

TEST(LoadedProvider, takes_its_variable_with_it_when_it_is_not_named_any_more) {
  ASSERT_EQ(stria_config_set(kName, "4K", "test"), STRIA_OK);
  ASSERT_EQ(stria_config_set("STRIA_PROVIDERS", "shm", "test"), STRIA_OK);
  EXPECT_EQ(testing::Value(names(), testing::Contains(kName)), false);
  EXPECT_EQ(stria_config_set(kName, "4K", "test"), STRIA_ERR_INVALID);
  EXPECT_THAT(stria_last_error(), HasSubstr("STRIA_PROVIDERS"));
  stria_context_t* context = nullptr;
  EXPECT_EQ(stria_context_open(nullptr, &context), STRIA_OK) << stria_last_error();
  stria_context_close(context);
  ASSERT_EQ(stria_config_set("STRIA_PROVIDERS", "socket", "test"), STRIA_OK);
  stria_config_variable_t variable{};
  ASSERT_EQ(stria_config_get(index_of(kName), &variable), STRIA_OK);
  EXPECT_STREQ(variable.value, "4K") << "what was set holds again";
  EXPECT_EQ(stria_config_set(kName, "16K", "test"), STRIA_OK);
}

}  // namespace
