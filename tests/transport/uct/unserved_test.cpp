// What is opened where the user names no transport: networks that no other provider of stria serves.
#include "transport/uct/unserved.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace stria::uct {
namespace {

uct_tl_resource_desc_t resource(const char* transport, const char* device,
                                uct_device_type_t type = UCT_DEVICE_TYPE_NET) {
  uct_tl_resource_desc_t out{};
  std::strncpy(out.tl_name, transport, sizeof out.tl_name - 1);
  std::strncpy(out.dev_name, device, sizeof out.dev_name - 1);
  out.dev_type = type;
  return out;
}

const std::vector<uct_tl_resource_desc_t> kServed = {resource("self", "memory", UCT_DEVICE_TYPE_SELF),
                                                     resource("tcp", "eth0"),
                                                     resource("tcp", "lo"),
                                                     resource("posix", "memory", UCT_DEVICE_TYPE_SHM),
                                                     resource("cma", "memory", UCT_DEVICE_TYPE_SHM),
                                                     resource("rc_verbs", "mlx5_0:1"),
                                                     resource("ud_verbs", "mlx5_0:1")};

std::vector<uct_tl_resource_desc_t> served_and(std::initializer_list<uct_tl_resource_desc_t> more) {
  std::vector<uct_tl_resource_desc_t> out = kServed;
  out.insert(out.end(), more);
  return out;
}

/// The candidates in their order: "dc_mlx5/mlx5_0:1 rc_mlx5/mlx5_0:1".
std::string order(const std::vector<uct_tl_resource_desc_t>& resources, const char* device = "") {
  std::string out;
  for (const Wanted& one : unserved(resources, device))
    out += (out.empty() ? "" : " ") + one.transport + "/" + one.device;
  return out;
}

TEST(UctUnserved, has_nothing_that_another_provider_serves) {
  EXPECT_EQ(order(kServed), "");
  EXPECT_EQ(order({}), "");
  EXPECT_EQ(list_served(kServed), "self, posix, cma by shm; tcp by tcp; rc_verbs, ud_verbs by verbs");
}

TEST(UctUnserved, has_no_memory_of_accelerators) {
  EXPECT_EQ(order({resource("rocm_copy", "rocm", UCT_DEVICE_TYPE_ACC)}), "");
}

TEST(UctUnserved, takes_the_best_network_first) {
  EXPECT_EQ(order(served_and({resource("ud_mlx5", "mlx5_0:1"), resource("rc_mlx5", "mlx5_0:1"),
                              resource("dc_mlx5", "mlx5_0:1")})),
            "dc_mlx5/mlx5_0:1 rc_mlx5/mlx5_0:1 ud_mlx5/mlx5_0:1");
  EXPECT_EQ(order(served_and({resource("srd", "rdmap0:1")})), "srd/rdmap0:1");
  EXPECT_EQ(order(served_and(
                {resource("a_new_one", "new0"), resource("ugni_smsg", "nic0"), resource("dctcp", "eth0")})),
            "ugni_smsg/nic0 a_new_one/new0 dctcp/eth0")
      << "names that are not known come last";
}

TEST(UctUnserved, keeps_the_order_of_ucx_among_the_devices_of_one_transport) {
  const auto two = served_and({resource("dc_mlx5", "mlx5_1:1"), resource("dc_mlx5", "mlx5_0:1")});
  EXPECT_EQ(order(two), "dc_mlx5/mlx5_1:1 dc_mlx5/mlx5_0:1");
  EXPECT_EQ(order(two, "mlx5_0:1"), "dc_mlx5/mlx5_0:1");
  EXPECT_EQ(order(two, "eth0"), "") << "of that device only tcp is there";
}

TEST(UctUnserved, passes_over_what_does_not_open) {
  const auto all = served_and({resource("gga_mlx5", "mlx5_0:1"), resource("rc_mlx5", "mlx5_0:1")});
  std::string tried;
  const auto opened = open_unserved(all, "", [&](const Wanted& one) -> Result<void> {
    tried += one.transport + " ";
    if (one.transport == "gga_mlx5") return {};
    return Error{Status::unsupported, "uct: it is worn out"};
  });
  EXPECT_TRUE(opened);
  EXPECT_EQ(tried, "rc_mlx5 gga_mlx5 ");
}

TEST(UctUnserved, says_what_there_is_when_nothing_is_opened) {
  const auto refuse = [](const Wanted&) -> Result<void> {
    return Error{Status::unsupported, "uct: it is worn out"};
  };
  const auto refused = open_unserved(served_and({resource("rc_mlx5", "mlx5_0:1")}), "", refuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().status, Status::unsupported);
  const std::string& why = refused.error().context;
  for (const char* word :
       {"STRIA_UCT_TRANSPORT is empty", "rc_mlx5/mlx5_0:1", "it is worn out",
        "self, posix, cma by shm; tcp by tcp; rc_verbs, ud_verbs by verbs", "STRIA_UCT_TRANSPORT=tcp"})
    EXPECT_NE(why.find(word), std::string::npos) << why << "\nlacks " << word;
  const auto elsewhere = open_unserved(kServed, "eth7", refuse);
  ASSERT_FALSE(elsewhere);
  EXPECT_NE(elsewhere.error().context.find("on device eth7"), std::string::npos) << elsewhere.error().context;
  EXPECT_FALSE(open_unserved({}, "", refuse));
}

}  // namespace
}  // namespace stria::uct
