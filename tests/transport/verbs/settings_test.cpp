// STRIA_VERBS_DEVICE names one device, or several, each of which is a device of the provider.
#include "transport/verbs/settings.hpp"

#include <gtest/gtest.h>

#include "transport/device_config.hpp"
#include "transport/verbs/variables.hpp"
#include "transport/verbs/verbs.hpp"

namespace stria::verbs {
namespace {

class VerbsDevices : public testing::Test {
 protected:
  stria_device_params_t params_for(const char* devices, std::uint32_t index = 0) {
    EXPECT_TRUE(config_.set("STRIA_VERBS_DEVICE", devices, "test"));
    stria_device_params_t params{};
    params.size = sizeof params;
    params.config = transport::config_text;
    params.config_number = transport::config_number;
    params.config_self = &config_;
    params.device = index;
    return params;
  }
  std::uint32_t count(const char* devices) {
    const stria_device_params_t params = params_for(devices);
    return verbs_provider().devices->count(&params);
  }
  std::string device(const char* devices, std::uint32_t index) {
    const auto settings = read_settings(params_for(devices, index));
    EXPECT_TRUE(settings.has_value());
    return settings ? settings->device : "";
  }
  Config config_{{kVariables}};
};

TEST_F(VerbsDevices, there_is_one_unless_several_are_named) {
  EXPECT_EQ(count(""), 1u);
  EXPECT_EQ(count("mlx5_0"), 1u);
  EXPECT_EQ(count("mlx5_0,10.0.0.1"), 2u);
  EXPECT_EQ(device("", 0), "");
  EXPECT_EQ(device("mlx5_0", 0), "mlx5_0");
}

TEST_F(VerbsDevices, each_has_its_name_by_its_index) {
  EXPECT_EQ(device("mlx5_0,10.0.0.1,rxe0", 0), "mlx5_0");
  EXPECT_EQ(device("mlx5_0,10.0.0.1,rxe0", 2), "rxe0");
}

TEST_F(VerbsDevices, an_index_beyond_the_names_is_refused_with_the_variable) {
  const auto refused = read_settings(params_for("mlx5_0,mlx5_1", 2));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().status, Status::invalid);
  EXPECT_NE(refused.error().context.find("STRIA_VERBS_DEVICE=mlx5_0,mlx5_1"), std::string::npos)
      << refused.error().context;
}

}  // namespace
}  // namespace stria::verbs
