// STRIA_UCT_TRANSPORT names one device, or several, and says what is wrong with a list.
#include "transport/uct/device_list.hpp"

#include <gtest/gtest.h>

#include "transport/device_config.hpp"
#include "transport/uct/settings.hpp"
#include "transport/uct/uct.hpp"
#include "transport/uct/variables.hpp"

namespace stria::uct {
namespace {

using List = std::vector<Wanted>;

List list_of(const char* transports, const char* device = "") {
  auto read = read_device_list(transports, device);
  EXPECT_TRUE(read) << read.error().context;
  return read ? *std::move(read) : List{};
}

/// Why it is refused, which names the variable, the value, and each of `words`.
void expect_refusal(const char* transports, const char* device, std::initializer_list<const char*> words) {
  const auto read = read_device_list(transports, device);
  ASSERT_FALSE(read) << transports;
  EXPECT_EQ(read.error().status, Status::invalid);
  const std::string& why = read.error().context;
  EXPECT_TRUE(why.starts_with("uct: ")) << why;
  for (const char* word : words) EXPECT_NE(why.find(word), std::string::npos) << why << "\nlacks " << word;
}

TEST(UctDeviceList, has_one_entry_unless_several_are_named) {
  EXPECT_EQ(list_of(""), (List{{"", ""}}));
  EXPECT_EQ(list_of("", "eth0"), (List{{"", "eth0"}}));
  EXPECT_EQ(list_of("posix"), (List{{"posix", ""}}));
  EXPECT_EQ(list_of("tcp", "eth0"), (List{{"tcp", "eth0"}}));
  EXPECT_EQ(list_of("tcp/eth0"), (List{{"tcp", "eth0"}}));
}

TEST(UctDeviceList, names_a_transport_and_perhaps_a_device_of_it) {
  EXPECT_EQ(list_of("tcp/eth0,tcp/eth1"), (List{{"tcp", "eth0"}, {"tcp", "eth1"}}));
  EXPECT_EQ(list_of("tcp,rc_verbs/mlx5_0:1"), (List{{"tcp", ""}, {"rc_verbs", "mlx5_0:1"}}));
  EXPECT_EQ(list_of("tcp,posix/memory"), (List{{"tcp", ""}, {"posix", "memory"}}));
  EXPECT_EQ(list_of("tcp/a/b"), (List{{"tcp", "a/b"}})) << "the first slash divides";
}

TEST(UctDeviceList, gives_the_device_of_the_other_variable_to_entries_that_name_none) {
  EXPECT_EQ(list_of("tcp,tcp/eth1,posix", "eth0"),
            (List{{"tcp", "eth0"}, {"tcp", "eth1"}, {"posix", "eth0"}}));
}

TEST(UctDeviceList, is_separated_as_that_of_verbs_is) {
  EXPECT_EQ(list_of("tcp/eth0,,tcp/eth1,"), (List{{"tcp", "eth0"}, {"tcp", "eth1"}}));
  EXPECT_EQ(list_of(","), (List{{"", ""}}));
}

TEST(UctDeviceList, refuses_an_entry_that_is_malformed_with_its_number_and_what_to_write) {
  expect_refusal(
      "tcp/eth0,/eth1", "",
      {"entry 2", "STRIA_UCT_TRANSPORT=tcp/eth0,/eth1", "'/eth1'", "no transport", "tcp/eth0,tcp/eth1"});
  expect_refusal("tcp/", "", {"entry 1", "STRIA_UCT_TRANSPORT=tcp/", "no device", "write transport or"});
  expect_refusal("/", "", {"entry 1", "'/'", "no transport"});
  expect_refusal("tcp/eth0, tcp/eth1", "", {"entry 2", "' tcp/eth1'", "has a blank"});
  expect_refusal("tcp eth0", "", {"'tcp eth0'", "has a blank"});
}

TEST(UctDeviceList, refuses_an_entry_that_is_repeated) {
  expect_refusal(
      "tcp/eth0,posix,tcp/eth0", "",
      {"entries 1 and 3", "STRIA_UCT_TRANSPORT=tcp/eth0,posix,tcp/eth0", "both tcp/eth0", "leave one out"});
  expect_refusal("tcp,tcp", "", {"entries 1 and 2", "both tcp;"});
  expect_refusal("tcp/eth0,tcp", "eth0", {"entries 1 and 2", "both tcp/eth0", "(STRIA_UCT_DEVICE)"});
}

TEST(UctDeviceList, refuses_more_entries_than_a_worker_has_devices) {
  std::string all;
  for (int i = 0; i < STRIA_DEVICES_MAX; ++i) all += ",tcp/eth" + std::to_string(i);
  EXPECT_EQ(list_of(all.c_str()).size(), std::size_t{STRIA_DEVICES_MAX});
  all += ",posix";
  expect_refusal(all.c_str(), "", {"STRIA_UCT_TRANSPORT=,tcp/eth0", "9 entries", "at most 8", "name fewer"});
}

TEST(UctDeviceList, refuses_several_devices_in_the_variable_for_one) {
  expect_refusal("tcp", "eth0,eth1", {"STRIA_UCT_DEVICE=eth0,eth1", "STRIA_UCT_TRANSPORT=tcp/eth0,tcp/eth1"});
}

TEST(UctDeviceList, refuses_a_device_that_one_entry_takes_and_another_names) {
  const List list = {{"tcp", ""}, {"tcp", "eth0"}, {"posix", "eth0"}};
  EXPECT_TRUE(check_is_single(list, 0, {"tcp", "eth1"}));
  EXPECT_TRUE(check_is_single(list, 1, {"tcp", "eth0"}));
  const auto refused = check_is_single(list, 0, {"tcp", "eth0"});
  ASSERT_FALSE(refused);
  for (const char* word : {"entry 1", "STRIA_UCT_TRANSPORT", "tcp/eth0", "entry 2"})
    EXPECT_NE(refused.error().context.find(word), std::string::npos) << refused.error().context;
}

class UctDevices : public testing::Test {
 protected:
  stria_device_params_t params_for(const char* transports, std::uint32_t index = 0) {
    EXPECT_TRUE(config_.set("STRIA_UCT_TRANSPORT", transports, "test"));
    stria_device_params_t params{};
    params.size = sizeof params;
    params.config = transport::config_text;
    params.config_number = transport::config_number;
    params.config_self = &config_;
    params.device = index;
    return params;
  }
  std::uint32_t count(const char* transports) {
    const stria_device_params_t params = params_for(transports);
    return uct_provider().devices->count(&params);
  }
  Config config_{{kVariables}};
};

TEST_F(UctDevices, are_as_many_as_the_list_has_entries) {
  EXPECT_EQ(count(""), 1u);
  EXPECT_EQ(count("tcp"), 1u);
  EXPECT_EQ(count("tcp/eth0,tcp/eth1,posix"), 3u);
  EXPECT_EQ(count("tcp,tcp"), 1u) << "open says what is wrong";
  stria_device_params_t nothing{};
  nothing.size = sizeof nothing;
  EXPECT_EQ(uct_provider().devices->count(&nothing), 1u);
}

TEST_F(UctDevices, have_their_entries_by_their_indexes) {
  const auto second = read_settings(params_for("tcp/eth0,rc_verbs/mlx5_0:1,posix", 1));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->transport, "rc_verbs");
  EXPECT_EQ(second->device, "mlx5_0:1");
  const auto beyond = read_settings(params_for("tcp,posix", 2));
  ASSERT_FALSE(beyond);
  EXPECT_NE(beyond.error().context.find("STRIA_UCT_TRANSPORT=tcp,posix names 2 devices"), std::string::npos)
      << beyond.error().context;
  EXPECT_FALSE(read_settings(params_for("tcp,tcp")));
}

}  // namespace
}  // namespace stria::uct
