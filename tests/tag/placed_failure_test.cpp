// A message that is being placed while its sender is given up, or the receiving worker closed: the receive
// ends with the same outcome as one whose message is not placed, and a thread that sleeps is woken.
#include <algorithm>
#include <chrono>

#include "tests/tag/hostile_peer.hpp"
#include "tests/tag/random_world.hpp"
#include "tests/tag/variable.hpp"

namespace stria::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBytes = 9000;

/// A raw peer, of which the first worker places a message, and which says meanwhile that it gave up.
class GivenUp : public HostilePeer {
 public:
  explicit GivenUp(std::uint64_t seed) : HostilePeer(options(seed)) {}
  void TestBody() override {}
  static fake::FabricOptions options(std::uint64_t seed) {
    fake::FabricOptions made = quick();
    made.seed = seed;
    made.delay = 100;
    made.keeps = false;
    made.places_percent = 100;
    made.death_seen_by_check_only = true;
    return made;
  }
  std::uint64_t placed() { return fake::statistics(world_.fabric()).placed; }
  std::uint64_t lost() { return fake::statistics(world_.fabric()).lost; }
  /// False: all of the message came before the farewell.
  bool begin() {
    post(other);
    stria_recv_t recv{};
    recv.base = room.data();
    recv.count = room.size();
    recv.match = {endpoint_, 7, 0};
    recv.callback = &Op::on_done;
    recv.user = &op;
    op.answer = stria_recv(world_.worker(0), &recv, &op.request);
    packet(wire::Kind::eager, 0, kBytes);
    for (int i = 0; i < 10000 && placed() == 0; ++i) progress();
    EXPECT_EQ(placed(), 1u);
    const stria_header_t gone = wire::make_header(wire::Kind::gone, 0);
    EXPECT_EQ(raw_->try_send(link_, contract::Path::pio, gone, nullptr, 0), Status::ok);
    for (int i = 0; i < 10000 && !other.ended(); ++i) progress();
    EXPECT_TRUE(other.ended());
    return !op.ended();
  }
  stria_status_t wait(int ms) { return stria_worker_wait(world_.worker(0), ms); }
  void kill_raw() { fake::kill(world_.fabric(), 0xbad, fake::Loss::random); }
  void drive() {
    for (int i = 0; i < 10000 && !op.ended(); ++i) progress();
  }
  std::vector<unsigned char> room = std::vector<unsigned char>(kBytes, 0xa5);
  Op other, op;
};

TEST(PlacedFailure, sleeper_hears_that_the_link_of_a_peer_that_was_given_up_ended) {
  const Variable liveness("STRIA_LIVENESS_MS", "5"), spin("STRIA_WAIT_SPIN_US", "0");
  unsigned tried = 0;
  for (std::uint64_t seed = 1; seed <= 60 && tried < 3; ++seed) {
    SCOPED_TRACE(seed);
    GivenUp rig(seed);
    if (!rig.begin()) continue;
    rig.kill_raw();
    if (rig.lost() == 0) continue;
    ++tried;
    constexpr int kLongMs = 60000;
    const auto begun = Clock::now();
    EXPECT_EQ(rig.wait(kLongMs), STRIA_OK);
    EXPECT_LT(Clock::now() - begun, std::chrono::milliseconds(kLongMs / 2));
    EXPECT_TRUE(rig.op.ended());
    EXPECT_EQ(rig.op.info.status, STRIA_ERR_PEER_FAILED);
    EXPECT_EQ(rig.op.info.received, 0u);
  }
  EXPECT_GT(tried, 0u);
}

TEST(PlacedFailure, receive_of_a_peer_that_was_given_up_has_received_nothing) {
  unsigned tried = 0;
  for (std::uint64_t seed = 1; seed <= 60 && tried < 3; ++seed) {
    SCOPED_TRACE(seed);
    GivenUp rig(seed);
    if (!rig.begin()) continue;
    ++tried;
    rig.drive();
    EXPECT_EQ(rig.op.callbacks, 1);
    EXPECT_EQ(rig.op.info.status, STRIA_ERR_PEER_FAILED);
    EXPECT_EQ(rig.op.info.received, 0u);
  }
  EXPECT_GT(tried, 0u);
}

TEST(PlacedFailure, receive_that_ends_with_its_worker_has_received_nothing) {
  fake::FabricOptions options;
  options.seed = 7;
  options.delay = 50;
  options.keeps = false;
  options.places_percent = 100;
  World world(2, options);
  const std::vector<unsigned char> data = pattern(kBytes, 1);
  std::vector<unsigned char> room(kBytes, 0xa5);
  Op first_send, first_recv, send, recv;
  char byte = 1, here = 0;
  world.recv(first_recv, 1, 0, 99, 0, &here, 1);
  world.send(first_send, 0, 1, 99, &byte, 1);
  ASSERT_TRUE(world.run_until([&] { return first_recv.ended() && first_send.ended(); }));
  ASSERT_EQ(world.recv(recv, 1, 0, 5, 0, room.data(), room.size()), STRIA_IN_PROGRESS);
  world.send(send, 0, 1, 5, data.data(), data.size());
  ASSERT_TRUE(world.run_until([&] { return fake::statistics(world.fabric()).placed == 1; }));
  ASSERT_FALSE(recv.ended());
  world.close(1);
  EXPECT_EQ(recv.info.status, STRIA_ERR_CANCELLED);
  EXPECT_EQ(recv.info.received, 0u);
}

}  // namespace
}  // namespace stria::test
