// Which links the worker's thread may meet while the connector's makes and frees them. Neither needs the
// other's lock, so a link that is taken apart must be in nobody's table: its queue pair cannot be read then.
#include <sched.h>

#include "tests/transport/verbs/connection_manager.hpp"
#include "tests/transport/verbs/strided_world.hpp"
#include "transport/fingerprint.hpp"
#include "transport/wire.hpp"

namespace stria::verbs::test {
namespace {

class Connecting : public ::testing::Test {
 protected:
  void SetUp() override {
    auto adapter = stand_in.adapter();
    ASSERT_TRUE(adapter->use_strided_keys(StandIn::library()));
    manager = std::make_unique<ConnectionManager>(adapter->context);
    adapter->channel = manager->channel();
    side = std::make_unique<Side>(kWorker, std::move(adapter));
    ASSERT_TRUE(side->device->connector().start().has_value());
  }
  static Hello hello_of(std::uint64_t peer) {
    constexpr std::string_view kSecret = "a secret of sixteen";
    const auto* const text = reinterpret_cast<const std::byte*>(kSecret.data());
    const std::vector<std::byte> secret(text, text + kSecret.size());
    return {kHelloMagic,
            kVersion,
            wire::kVersion,
            32,
            peer,
            kWorker,
            transport::fingerprint(secret, peer, kWorker),
            0,
            8192};
  }
  /// The worker looks through all links, for the one that a lost buffer belonged to.
  void look_at_all_links() {
    stand_in.flush_receive(4711);
    side->device->progress(64);
    side->device->check();
  }
  static constexpr std::uint64_t kWorker = 1;
  StandIn stand_in;
  std::unique_ptr<ConnectionManager> manager;
  std::unique_ptr<Side> side;
};

TEST_F(Connecting, the_worker_does_not_meet_a_link_that_it_gave_back) {
  const Hello hello = hello_of(2);
  rdma_cm_id* const id = manager->make_id();
  manager->hold();
  manager->say(RDMA_CM_EVENT_CONNECT_REQUEST, id, &hello);
  manager->say(RDMA_CM_EVENT_DISCONNECTED, id);
  while (side->downs == 0) {
    side->device->progress(64);
    ::sched_yield();
  }
  manager->wait_until_held();
  look_at_all_links();
  manager->go_on();
}

TEST_F(Connecting, an_answer_that_comes_when_nobody_waits_any_more_makes_no_link) {
  manager->answer_late(hello_of(3));
  manager->hold();
  Address to{};
  to.magic = kHelloMagic;
  to.version = kVersion;
  to.family = 4;
  to.worker = 3;
  const auto link = side->device->connect(&to, sizeof to, side.get(), 0);
  ASSERT_FALSE(link.has_value());
  EXPECT_EQ(link.error().status, Status::unreachable);
  manager->wait_until_held();
  look_at_all_links();
  manager->go_on();
}

}  // namespace
}  // namespace stria::verbs::test
