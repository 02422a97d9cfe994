// The TCP door of a device whose endpoints are joined pairwise: a peer that knows the job's secret gets an
// endpoint, and a stranger at the door delays no peer.
#include <sys/epoll.h>

#include <chrono>
#include <thread>

#include "tests/transport/uct/door.hpp"
#include "transport/uct/asking.hpp"

namespace stria::uct {
namespace {

using contract::drive;
using contract::drive_for;

TEST_F(UctDoor, hangs_up_on_a_stranger_without_an_answer) {
  UniqueFd socket = dial();
  say(socket, question("another secret"));
  EXPECT_EQ(answered(socket), 0u);
  Join changed = question(kSecret);
  changed.endpoint[0] ^= std::byte{1};
  socket = dial();
  say(socket, changed);
  EXPECT_EQ(answered(socket), 0u) << "an endpoint that was changed on the way";
  socket = dial();
  say(socket, Join{});
  EXPECT_EQ(answered(socket), 0u) << "noise";
  EXPECT_TRUE(device->ups.empty());
  expect_service();
}

TEST_F(UctDoor, answers_within_a_few_calls_of_a_worker_that_calls_seldom) {
  device->progress();
  const UniqueFd socket = dial();
  const Join asked = question(kSecret);
  Transfer sent, came;
  while (sent.send(socket, &asked, sizeof asked) == Moved::some) std::this_thread::yield();
  Join answer;
  int calls = 0;
  while (came.receive(socket, &answer, sizeof answer) == Moved::some && calls < 64) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    device->progress();
    ++calls;
  }
  EXPECT_LE(calls, 9);
}

TEST_F(UctDoor, is_held_up_by_nobody_who_is_silent_or_hangs_up_half_way) {
  const UniqueFd silent = dial(), slow = dial();
  say(slow, question(kSecret), 100);
  {
    const UniqueFd cut = dial();
    say(cut, question(kSecret), 100);
  }
  expect_service();
  EXPECT_TRUE(is_open(silent) && is_open(slow)) << "they have some time yet";
  expect_service();
  device->close(1000);
  EXPECT_FALSE(is_open(silent));
}

TEST_F(UctDoor, gives_an_endpoint_to_who_knows_the_secret_and_another_when_asked_again) {
  const Door lives = *Door::open(instance);
  Joined given_up = join();
  given_up.socket.reset();
  const Joined joined = join();
  EXPECT_TRUE(device->ups.empty()) << "an endpoint alone is no link";
  say_hello(joined);
  EXPECT_EQ(device->ups.size(), 1u);
  drive_for({device.get()}, 100);
  device->check();
  EXPECT_TRUE(device->downs.empty());
  device->close(0);
}

TEST_F(UctDoor, a_link_ends_when_its_peer_of_another_host_closes_the_connection) {
  where.host ^= 1;
  Joined joined = join();
  say_hello(joined);
  ASSERT_EQ(device->ups.size(), 1u);
  for (int i = 0; i < 10; ++i) {
    drive_for({device.get()}, 100);
    device->check();
  }
  EXPECT_TRUE(device->downs.empty());
  joined.socket.reset();  // as the kernel does when the process dies; the endpoint goes on
  ASSERT_TRUE(drive({device.get()}, [&] { return device->downs.size() == 1; }));
  EXPECT_EQ(device->downs.front()->why, Status::peer_failed);
}

/// A listener at one address of this host, which answers what the test tells it to.
class Server {
 public:
  explicit Server(const char* answer) : answer_(answer) {
    TcpPlace everywhere;
    door_ = *listen_for_peers(everywhere);
    port_ = everywhere.port;
  }
  std::uint16_t port() const { return port_; }
  void step() {
    if (!guest_) guest_ = accept_connection(door_);
    if (!guest_ || *answer_ == '\0') return;
    static_cast<void>(::send(guest_.get(), answer_, std::strlen(answer_), MSG_NOSIGNAL));
    guest_.reset();
  }

 private:
  const char* answer_;
  UniqueFd door_, guest_;
  std::uint16_t port_ = 0;
};

constexpr std::uint32_t kHere = 0x0100007f;  // 127.0.0.1

Status ask_at(const TcpPlace& place, Server& server, int rounds) {
  const UniqueFd events(::epoll_create1(EPOLL_CLOEXEC));
  Ask ask{OwnEndpoint{}};
  Status status = Status::no_resource;
  for (int i = 0; i < rounds && status == Status::no_resource; ++i) {
    server.step();
    status = ask.advance(place, events);
  }
  return status;
}

TEST(UctAsk, ends_when_all_addresses_refuse_or_hang_up_and_goes_on_where_somebody_listens) {
  std::uint16_t nobody = 0;
  { nobody = Server("").port(); }
  Server cut("too short"), silent("");
  EXPECT_EQ(ask_at({nobody, {kHere, kHere}}, silent, 1000000), Status::unreachable);
  EXPECT_EQ(ask_at({cut.port(), {kHere, kHere, kHere}}, cut, 1000000), Status::unreachable);
  EXPECT_EQ(ask_at({silent.port(), {kHere, kHere}}, silent, 1000), Status::no_resource)
      << "it may answer yet";
  EXPECT_EQ(ask_at({silent.port(), {}}, silent, 1), Status::unreachable) << "of no address";
}

}  // namespace
}  // namespace stria::uct
