// Connecting waits for nobody: a link is there at once, is used when its peer has answered, and goes down
// when the peer does not.
#include "tests/transport/verbs/connecting_world.hpp"

namespace stria::verbs::test {
namespace {

using Connecting = ConnectingWorld;

/// Every call of the contract on a link that has no connection yet.
TEST_F(Connecting, gives_a_link_at_once_whose_calls_wait_until_the_peer_answers) {
  manager.silence(2);
  Side& a = open(1);
  Link* const link = connect(a, 2);
  ASSERT_NE(link, nullptr);
  Bytes memory(100000);
  KeyData data{};
  data.mark = kKeyMark;
  data.kind = KeyKind::window;
  data.access = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE | STRIA_ACCESS_REMOTE_ATOMIC;
  data.bytes = memory.size();
  transport::Key theirs{};
  theirs.bytes = sizeof data;
  std::memcpy(theirs.data, &data, sizeof data);
  Ending ending;
  std::uint64_t word = 0;
  transport::Atomic add{};
  add.result = &word;
  const auto header = contract::header(1);
  const auto local = contract::contiguous(memory);
  EXPECT_EQ(link->pio_send(header, nullptr, 0), Status::no_resource);
  EXPECT_EQ(link->eager_send(header, contract::contiguous(memory.data(), 4000)), Status::no_resource);
  EXPECT_EQ(link->send_invalidate(header, nullptr, 0, theirs), Status::no_resource);
  EXPECT_EQ(link->get(local, theirs, 0, &ending.base), Status::no_resource);
  EXPECT_EQ(link->put(local, theirs, 0, &ending.base), Status::no_resource);
  EXPECT_EQ(link->get_finish(local, theirs, 0, header, &ending.base), Status::no_resource);
  EXPECT_EQ(link->atomic(add, theirs, &ending.base), Status::unsupported) << "the stand-in has none";
  transport::LinkLimits limits{};
  link->limits(limits);
  EXPECT_EQ(limits.eager_max, 8192u) << "what the link will be able to do";
  EXPECT_EQ(limits.pio_credits, 0u);
  progress();
  EXPECT_TRUE(stand_ins[1].posted.empty());
}

TEST_F(Connecting, to_a_peer_that_does_not_answer_delays_no_other) {
  manager.silence(3);
  Side &a = open(1), &b = open(2);
  Link* const silent = connect(a, 3);
  ASSERT_NE(silent, nullptr);
  Link* const good = connect(a, 2);
  ASSERT_NE(good, nullptr);
  ASSERT_TRUE(exchange(*good, b, 7));
  ASSERT_EQ(b.ups.size(), 1u);
  ASSERT_TRUE(exchange(*b.ups[0], a, 8));
  EXPECT_EQ(a.arrived_from, cookie_of(2));
  EXPECT_EQ(send(*silent, 9), Status::no_resource) << "it may still answer";
  EXPECT_EQ(a.downs, 0);
}

TEST_F(Connecting, to_a_peer_that_does_not_answer_ends_the_link_when_its_time_is_over) {
  manager.silence(2);
  Side& a = open(1, Patience::short_one);
  ASSERT_NE(connect(a, 2), nullptr);
  ASSERT_TRUE(drive([&] { return a.downs == 1; }));
  EXPECT_EQ(a.ended[cookie_of(2)], Status::unreachable);
}

/// Nobody looks at the connection manager in the name of the worker's thread.
TEST_F(Connecting, is_not_held_up_by_a_system_call_of_the_connection_manager) {
  manager.silence(2);
  manager.silence(3);
  Side& a = open(1, Patience::short_one);
  manager.hold();
  ASSERT_NE(connect(a, 2), nullptr);
  manager.wait_until_held();  // the attempt is over, and what it left is being destroyed
  ASSERT_NE(connect(a, 3), nullptr);
  progress();
  manager.go_on();
  EXPECT_TRUE(drive([&] { return a.downs == 2; }));
}

/// An iWARP device connects by TCP, where an ordinary socket may have the port.
TEST_F(Connecting, by_ports_that_sockets_have_taken_asks_by_others) {
  Side &a = open(1), &b = open(2);
  manager.take_ports(3);
  Link* const link = connect(a, 2);
  ASSERT_NE(link, nullptr);
  EXPECT_TRUE(exchange(*link, b, 5));
  EXPECT_EQ(a.downs, 0);
}

TEST_F(Connecting, by_ports_that_all_are_taken_ends_the_link_when_its_time_is_over) {
  Side& a = open(1, Patience::short_one);
  open(2);
  manager.take_ports(1 << 30);
  ASSERT_NE(connect(a, 2), nullptr);
  ASSERT_TRUE(drive([&] { return a.downs == 1; }));
  EXPECT_EQ(a.ended[cookie_of(2)], Status::unreachable);
}

TEST_F(Connecting, to_where_nobody_listens_ends_the_link_because_the_peer_is_gone) {
  Side& a = open(1);
  connect(a, 2);
  ASSERT_TRUE(drive([&] { return a.downs == 1; }));
  EXPECT_EQ(a.ended[cookie_of(2)], Status::peer_failed);
}

TEST_F(Connecting, to_an_address_that_another_worker_has_now_ends_the_link_because_the_peer_is_gone) {
  Side& a = open(1);
  open(2);
  const Address address = ConnectionManager::address_of(port_of(2), 22);
  ASSERT_TRUE(a.device->connect(&address, sizeof address, cookie_of(22), 0).has_value());
  ASSERT_TRUE(drive([&] { return a.downs == 1; }));
  EXPECT_EQ(a.ended[cookie_of(22)], Status::peer_failed);
}

TEST_F(Connecting, again_after_it_failed_makes_a_new_attempt) {
  Side& a = open(1);
  connect(a, 2);
  ASSERT_TRUE(drive([&] { return a.downs == 1; }));
  Side& b = open(2);
  Link* const link = connect(a, 2);
  ASSERT_NE(link, nullptr);
  EXPECT_TRUE(exchange(*link, b, 1));
}

/// The peer counts on its connection, which came after our attempt was over and before we took that in.
TEST_F(Connecting, that_came_to_nothing_is_no_obstacle_to_a_peer_that_comes_before_that_is_told) {
  manager.silence(2);
  Side& a = open(1, Patience::short_one);
  Link* const link = connect(a, 2);
  while (!a.device->connector().has_news()) ::sched_yield();  // until the attempt is over
  Side& b = open(2);
  Link* const back = connect(b, 1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (send(*back, 7) != Status::ok && std::chrono::steady_clock::now() < end) {
    b.device->progress(64);
    ::sched_yield();
  }
  ASSERT_TRUE(drive([&] { return !a.arrived.empty(); }));
  EXPECT_EQ(a.arrived_from, cookie_of(2));
  ASSERT_TRUE(exchange(*link, b, 8));
  EXPECT_EQ(a.downs + b.downs, 0);
}

TEST_F(Connecting, twice_gives_the_same_link_with_the_later_cookie) {
  Side &a = open(1), &b = open(2);
  Link* const link = connect(a, 2);
  const Address address = ConnectionManager::address_of(port_of(2), 2);
  const auto again = a.device->connect(&address, sizeof address, &a, 0);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, link);
  ASSERT_TRUE(exchange(*link, b, 1));
  ASSERT_TRUE(exchange(*b.ups[0], a, 2));
  EXPECT_EQ(a.arrived_from, &a);
}

TEST_F(Connecting, of_both_sides_at_once_gives_one_link_each) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    const std::uint64_t one = 10 + round, other = 1000 - round;
    Side &a = open(one), &b = open(other);
    Link* const ab = connect(a, other);
    Link* const ba = connect(b, one);
    ASSERT_TRUE(exchange(*ab, b, 1));
    ASSERT_TRUE(exchange(*ba, a, 2));
    EXPECT_EQ(a.arrived_from, cookie_of(other));
    EXPECT_EQ(b.arrived_from, cookie_of(one));
    EXPECT_TRUE(a.ups.empty() && b.ups.empty()) << "a side that connects is not told that it did";
    EXPECT_EQ(a.downs + b.downs, 0);
    sides.clear();
  }
}

TEST_F(Connecting, to_oneself_makes_a_link_whose_other_end_is_nobodys) {
  Side& a = open(1);
  Link* const link = connect(a, 1);
  Bytes memory(100000);
  transport::Key key{};
  EXPECT_EQ(a.device->fast_register(link, contract::contiguous(memory), STRIA_ACCESS_REMOTE_READ, key),
            Status::no_resource)
      << "its key belongs to the other end, which is not there yet";
  ASSERT_TRUE(exchange(*link, a, 1));
  EXPECT_EQ(a.arrived_from, cookie_of(1));
  EXPECT_TRUE(a.ups.empty());
  EXPECT_EQ(a.device->fast_register(link, contract::contiguous(memory), STRIA_ACCESS_REMOTE_READ, key),
            Status::ok);
}

TEST_F(Connecting, lets_a_key_be_made_that_goes_out_with_the_first_packet) {
  Side &a = open(1), &b = open(2);
  Link* const ab = connect(a, 2);
  Bytes memory = contract::pattern(1, 100000), local(100000);
  transport::Key key{};
  ASSERT_EQ(a.device->fast_register(ab, contract::contiguous(memory), STRIA_ACCESS_REMOTE_READ, key),
            Status::ok);
  ASSERT_TRUE(exchange(*ab, b, 1));
  Ending ending;
  ASSERT_EQ(b.ups.at(0)->get(contract::contiguous(local), key, 0, &ending.base), Status::in_progress);
  ASSERT_TRUE(drive([&] { return ending.calls == 1; }));
  EXPECT_EQ(ending.status, Status::ok);
  EXPECT_EQ(local, memory);
}

TEST_F(Connecting, that_fails_takes_the_keys_that_were_made_for_it_along) {
  manager.silence(2);
  Side& a = open(1, Patience::short_one);
  Link* const link = connect(a, 2);
  Bytes memory(100000);
  transport::Key key{};
  ASSERT_EQ(a.device->fast_register(link, contract::contiguous(memory), STRIA_ACCESS_REMOTE_READ, key),
            Status::ok);
  ASSERT_TRUE(drive([&] { return a.downs == 1; }));
  EXPECT_EQ(a.device->keys().valid(), 0u);
  EXPECT_EQ(a.device->invalidate(key), Status::access_error);
}

/// Each is silent in its own way: most have no address that is found, some do not answer.
class ThousandSilentPeers : public ConnectingWorld {
 protected:
  static constexpr std::uint64_t kFirst = 100, kPeers = 1000;
  void connect_to_all(Side& from) {
    for (std::uint64_t i = 0; i < kPeers; ++i) {
      i % 100 == 0 ? manager.silence(port_of(kFirst + i)) : manager.hide(port_of(kFirst + i));
      ASSERT_NE(connect(from, kFirst + i), nullptr);
    }
  }
};

TEST_F(ThousandSilentPeers, delay_no_other) {
  Side &a = open(1, Patience::long_enough, kPeers + 1), &b = open(2);
  connect_to_all(a);
  Link* const good = connect(a, 2);
  EXPECT_TRUE(exchange(*good, b, 1));
  EXPECT_EQ(a.downs, 0);
}

TEST_F(ThousandSilentPeers, all_end_when_their_time_is_over) {
  Side& a = open(1, Patience::short_one, kPeers);
  connect_to_all(a);
  ASSERT_TRUE(drive([&] { return a.downs == static_cast<int>(kPeers); }));
  for (std::uint64_t i = 0; i < kPeers; ++i) EXPECT_EQ(a.ended[cookie_of(kFirst + i)], Status::unreachable);
  EXPECT_NE(connect(a, 2), nullptr) << "their links are free again";
}

TEST_F(Connecting, to_more_peers_than_there_are_links_for_is_refused_by_name) {
  Side& a = open(1, Patience::short_one, 2);
  manager.silence(2);
  manager.silence(3);
  connect(a, 2);
  connect(a, 3);
  const Address address = ConnectionManager::address_of(port_of(4), 4);
  const auto link = a.device->connect(&address, sizeof address, cookie_of(4), 0);
  ASSERT_FALSE(link.has_value());
  EXPECT_EQ(link.error().status, Status::no_resource);
  EXPECT_NE(link.error().context.find("STRIA_VERBS_LINKS"), std::string::npos) << link.error().context;
  ASSERT_TRUE(drive([&] { return a.downs == 2; }));
  connect(a, 4);
}

}  // namespace
}  // namespace stria::verbs::test
