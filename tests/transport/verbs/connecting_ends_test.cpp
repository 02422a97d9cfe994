// What ends while a connection is being made: the attempt's time, the peer, the device. The worker's thread
// and the connector's need no lock of each other, so a link that is taken apart must be in nobody's table:
// its queue pair cannot be read then.
#include "tests/transport/verbs/connecting_world.hpp"

namespace stria::verbs::test {
namespace {

class ConnectingEnds : public ConnectingWorld {
 protected:
  /// The worker looks for the link that a lost buffer belonged to, and at all links.
  void look_at_all_links(Side& side, StandIn& stand_in) {
    stand_in.flush_receive(4711);
    side.device->progress(64);
    side.device->check();
  }
};

TEST_F(ConnectingEnds, a_peer_that_goes_before_it_greeted_takes_its_link_along) {
  Side& a = open(1);
  const Hello hello = hello_of(2, 1);
  rdma_cm_id* const id = manager.make_id(1);
  manager.hold();
  manager.say(RDMA_CM_EVENT_CONNECT_REQUEST, id, &hello);
  manager.say(RDMA_CM_EVENT_DISCONNECTED, id);
  ASSERT_TRUE(drive([&] { return a.downs == 1; }));
  EXPECT_EQ(a.ups.size(), 1u);
  EXPECT_EQ(a.ended[&a], Status::peer_failed);
  manager.wait_until_held();
  look_at_all_links(a, stand_ins[1]);
  manager.go_on();
}

TEST_F(ConnectingEnds, a_peer_that_goes_before_it_answers_is_gone) {
  Side& a = open(1);
  manager.silence(2);
  connect(a, 2);
  ASSERT_TRUE(drive([&] { return !manager.asked(1).empty(); }));
  manager.say(RDMA_CM_EVENT_UNREACHABLE, manager.asked(1)[0]);
  ASSERT_TRUE(drive([&] { return a.downs == 1; }));
  EXPECT_EQ(a.ended[cookie_of(2)], Status::unreachable);
}

TEST_F(ConnectingEnds, a_peer_that_answers_and_goes_ends_the_link) {
  Side& a = open(1);
  manager.silence(2);
  Link* const link = connect(a, 2);
  ASSERT_TRUE(drive([&] { return !manager.asked(1).empty(); }));
  const Hello hello = hello_of(2, 1);
  rdma_cm_id* const id = manager.asked(1)[0];
  manager.say(RDMA_CM_EVENT_ESTABLISHED, id, &hello);
  manager.say(RDMA_CM_EVENT_DISCONNECTED, id);
  ASSERT_TRUE(drive([&] {
    if (a.downs == 0) static_cast<void>(send(*link, 1));
    return a.downs == 1;
  }));
  EXPECT_EQ(a.ended[cookie_of(2)], Status::peer_failed);
}

TEST_F(ConnectingEnds, an_answer_of_another_secret_ends_the_link) {
  Side& a = open(1);
  manager.silence(2);
  connect(a, 2);
  ASSERT_TRUE(drive([&] { return !manager.asked(1).empty(); }));
  Hello hello = hello_of(2, 1);
  ++hello.proof;
  manager.say(RDMA_CM_EVENT_ESTABLISHED, manager.asked(1)[0], &hello);
  ASSERT_TRUE(drive([&] { return a.downs == 1; }));
  EXPECT_EQ(a.ended[cookie_of(2)], Status::unreachable);
}

TEST_F(ConnectingEnds, a_link_whose_time_is_over_is_met_by_nobody) {
  Side& a = open(1, Patience::short_one);
  manager.silence(2);
  manager.hold();
  connect(a, 2);
  manager.wait_until_held();
  look_at_all_links(a, stand_ins[1]);
  EXPECT_EQ(a.downs, 0) << "nothing is told before the queue pair is gone";
  manager.go_on();
  EXPECT_TRUE(drive([&] { return a.downs == 1; }));
}

/// A peer that was accepted may connect again only when the worker let go of its earlier link, or the end of
/// that would be taken for the end of the new one.
TEST_F(ConnectingEnds, a_peer_connects_anew_only_when_its_earlier_link_is_down) {
  Side &a = open(1), &b = open(2);
  Link* const link = connect(a, 2);
  ASSERT_TRUE(exchange(*link, b, 1));
  a.device->ends().fail(*link, Status::io_error, "");
  while (a.downs == 0) a.device->progress(64);
  Link* const again = connect(a, 2);
  for (int i = 0; i < 100; ++i) a.device->progress(64);
  EXPECT_EQ(b.ups.size(), 1u);
  ASSERT_TRUE(exchange(*again, b, 2));
  EXPECT_EQ(b.downs, 1);
  EXPECT_EQ(b.ups.size(), 2u);
}

TEST_F(ConnectingEnds, a_device_closes_while_it_connects_and_tells_nothing) {
  for (const bool silent : {true, false}) {
    Side &a = open(1), &b = open(2);
    if (silent) manager.silence(3);
    connect(a, 3);
    connect(a, 2);
    connect(a, 1);
    a.device->close(100);
    EXPECT_EQ(a.downs, 0);
    EXPECT_TRUE(a.ups.empty());
    a.device.reset();
    ASSERT_TRUE(drive([&] { return b.downs == static_cast<int>(b.ups.size()); }));
    sides.clear();
    manager.remove_host(1);
    manager.remove_host(2);
  }
}

TEST_F(ConnectingEnds, a_device_that_closes_is_gone_for_those_that_ask_it) {
  Side& a = open(1);
  {
    Side& b = open(2);
    b.device->close(0);
    manager.remove_host(2);
  }
  connect(a, 2);
  ASSERT_TRUE(drive([&] { return a.downs == 1; }));
  EXPECT_EQ(a.ended[cookie_of(2)], Status::peer_failed);
}

}  // namespace
}  // namespace stria::verbs::test
