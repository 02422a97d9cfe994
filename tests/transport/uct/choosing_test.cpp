// Which device of a transport is opened.
#include <gtest/gtest.h>

#include <cstring>

#include "transport/uct/choosing.hpp"

namespace stria::uct {
namespace {

uct_tl_resource_desc_t resource(const char* transport, const char* device) {
  uct_tl_resource_desc_t out{};
  std::strncpy(out.tl_name, transport, sizeof out.tl_name - 1);
  std::strncpy(out.dev_name, device, sizeof out.dev_name - 1);
  return out;
}

TEST(UctChoosing, takes_the_first_device_that_reaches_other_hosts_unless_one_is_named) {
  const std::vector<uct_tl_resource_desc_t> all = {resource("tcp", "lo"), resource("tcp", "eth0"),
                                                   resource("tcp", "eth1"), resource("rc", "mlx5_0:1")};
  EXPECT_EQ(choose_resource(all, "tcp", ""), 1);
  EXPECT_EQ(choose_resource(all, "tcp", "lo"), 0);
  EXPECT_EQ(choose_resource(all, "tcp", "eth1"), 2);
  EXPECT_EQ(choose_resource(all, "rc", ""), 3);
  EXPECT_EQ(choose_resource(all, "tcp", "mlx5_0:1"), -1);
  EXPECT_EQ(choose_resource(all, "rc_verbs", ""), -1);
  EXPECT_EQ(choose_resource(std::span(all).first(1), "tcp", ""), 0) << "a host without a network";
  EXPECT_EQ(choose_resource({}, "tcp", ""), -1);
}

TEST(UctChoosing, lists_what_there_is) {
  const std::vector<uct_tl_resource_desc_t> all = {resource("tcp", "lo"), resource("rc", "mlx5_0:1")};
  std::string text = "self/memory";
  list_resources(all, text);
  EXPECT_EQ(text, "self/memory tcp/lo rc/mlx5_0:1");
}

}  // namespace
}  // namespace stria::uct
