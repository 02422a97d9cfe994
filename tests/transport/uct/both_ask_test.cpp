// Two devices that ask each other for an endpoint: one ask counts, and they share one pair.
#include <filesystem>
#include <string>
#include <system_error>

#include "tests/transport/uct/door.hpp"

namespace stria::uct {
namespace {

using contract::drive;
using contract::drive_for;

TEST_F(UctDoor, devices_that_ask_each_other_at_once_have_one_link_each_way) {
  Peer other(uct_provider(), 9);
  stria_link_t* const there = device->connect(other);
  stria_link_t* const back = other.connect(*device);
  const auto data = contract::pattern(1, 100);
  for (std::uint16_t i = 0; i < 50; ++i) {
    ASSERT_EQ(contract::send({device.get(), &other}, *device, there, contract::Path::buffered,
                             contract::header(i), data),
              Status::ok);
    ASSERT_EQ(
        contract::send({device.get(), &other}, other, back, contract::Path::pio, contract::header(i), data),
        Status::ok);
  }
  EXPECT_TRUE(drive({device.get(), &other},
                    [&] { return device->received.size() == 50 && other.received.size() == 50; }));
  EXPECT_TRUE(device->ups.empty() && other.ups.empty());
}

std::size_t sockets_here() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the directory itself
    count += std::filesystem::read_symlink(entry.path(), gone).string().starts_with("socket:") ? 1 : 0;
  }
  return count;
}

TEST_F(UctDoor, devices_that_connect_to_each_other_share_one_pair_of_endpoints) {
  // A pair has a connection of UCX, beside the one that the two keep.
  std::size_t expected = 0;
  const auto connect_two = [&](bool both, int head_start) {
    Peer one(uct_provider(), 11), other(uct_provider(), 12);
    const std::size_t before = sockets_here();
    stria_link_t* const there = one.connect(other);
    drive_for({&one}, head_start);
    stria_link_t* const back = both ? other.connect(one) : nullptr;
    const auto pass = [&](Peer& from, stria_link_t* link, Peer& to) {
      const auto data = contract::pattern(1, 100);
      EXPECT_EQ(
          contract::send({&one, &other}, from, link, contract::Path::buffered, contract::header(1), data),
          Status::ok);
      EXPECT_TRUE(drive({&one, &other}, [&] { return to.received.size() == 1; }));
    };
    pass(one, there, other);
    pass(other, both ? back : other.ups.at(11), one);
    if (expected == 0) expected = sockets_here() - before;
    EXPECT_TRUE(drive({&one, &other}, [&] { return sockets_here() - before == expected; }))
        << sockets_here() - before << " sockets instead of " << expected << ", the second connects after "
        << head_start << " rounds";
  };
  connect_two(false, 0);
  for (const int head_start : {0, 1, 2, 10, 64, 200})
    for (int i = 0; i < 3; ++i) connect_two(true, head_start);  // either may have the smaller instance
}

TEST_F(UctDoor, leaves_a_peer_unanswered_that_it_asks_itself_when_its_own_instance_is_the_smaller) {
  const UniqueFd door = *listen_for_peers(joining);
  instance = ~std::uint64_t{0};
  const Door lives = *Door::open(instance);
  be_connected_to();
  Join asked;
  UniqueFd guest = be_asked(door, asked);
  UniqueFd own = dial();
  say(own, question(kSecret));
  for (int i = 0; i < 500; ++i) device->progress();
  EXPECT_TRUE(is_open(own)) << "answered, or hung up on";
  const Joined joined = be_joined(std::move(guest), asked);
  own.reset();
  EXPECT_EQ(first_answer(), ControlKind::hello);
  EXPECT_FALSE(contact.down);
}

TEST_F(UctDoor, gives_up_its_own_ask_for_that_of_a_peer_whose_instance_is_smaller) {
  const UniqueFd door = *listen_for_peers(joining);
  instance = 1;
  const Door lives = *Door::open(instance);
  be_connected_to();
  Join asked;
  const UniqueFd guest = be_asked(door, asked);
  const Joined joined = join();
  EXPECT_FALSE(is_open(guest));
  for (int i = 0; i < 500; ++i) device->progress();
  EXPECT_TRUE(answers.empty()) << "it waits for the hello";
  say_hello(joined);
  EXPECT_EQ(first_answer(), ControlKind::hello);
  EXPECT_TRUE(device->ups.empty()) << "it has connected itself";
}

TEST_F(UctDoor, answers_a_peer_that_it_cannot_reach_itself) {
  { const UniqueFd nobody = *listen_for_peers(joining); }
  instance = ~std::uint64_t{0};
  const Door lives = *Door::open(instance);
  be_connected_to();
  const Joined joined = join();
  say_hello(joined);
  EXPECT_EQ(first_answer(), ControlKind::hello);
  EXPECT_FALSE(contact.down);
}

TEST_F(UctDoor, asks_again_when_a_peer_gives_up_the_endpoint_that_it_asked_for) {
  const UniqueFd door = *listen_for_peers(joining);
  instance = 1;
  const Door lives = *Door::open(instance);
  Joined given_up = join();
  be_connected_to();
  for (int i = 0; i < 500; ++i) device->progress();
  EXPECT_FALSE(accept_connection(door)) << "it asks, though the peer has";
  given_up.socket.reset();
  Join asked;
  UniqueFd guest = be_asked(door, asked);
  const Joined joined = be_joined(std::move(guest), asked);
  EXPECT_EQ(first_answer(), ControlKind::hello);
}

}  // namespace
}  // namespace stria::uct
