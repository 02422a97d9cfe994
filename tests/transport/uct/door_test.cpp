// The TCP door of a device whose endpoints are joined pairwise: a peer that knows the job's secret gets an
// endpoint, and a stranger at the door delays no peer.
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "tests/contract/peer.hpp"
#include "transport/uct/asking.hpp"
#include "transport/uct/handshake.hpp"
#include "transport/uct/uct.hpp"

namespace stria::uct {
namespace {

using contract::drive;
using contract::Peer;

constexpr const char* kSecret = "a secret of sixteen";  // of contract::Peer

std::span<const std::byte> bytes_of(const char* text) {
  return std::as_bytes(std::span(text, std::strlen(text)));
}

class UctDoor : public testing::Test {
 protected:
  UctDoor() {
    ::setenv("STRIA_UCT_TRANSPORT", "tcp", 1);
    ::setenv("STRIA_UCT_JOIN_ENDPOINTS", "1", 1);
    device = std::make_unique<Peer>(uct_provider(), 1);
    target = *decode_address(device->address());
    const Interface::Calls calls{this,
                                 [](void* self, Am, std::span<const std::byte> bytes, bool) noexcept {
                                   auto& me = *static_cast<UctDoor*>(self);
                                   me.answers.emplace_back(bytes.begin(), bytes.end());
                                   return false;
                                 },
                                 [](void*, uct_ep_h, ucs_status_t) noexcept {}};
    auto opened = Interface::open({"tcp", "", 1000, true}, calls);
    if (!opened) throw std::runtime_error(opened.error().context);
    interface = *std::move(opened);
  }
  ~UctDoor() override { ::unsetenv("STRIA_UCT_JOIN_ENDPOINTS"); }

  Address own_address(const char* secret) {
    Address own{instance,
                2,
                0,
                own_whereabouts(),
                4000,
                0,
                "tcp",
                *interface->device_address(),
                *interface->interface_address()};
    own.check = own.expected_check(bytes_of(secret));
    return own;
  }
  Join question(const char* secret, std::span<const std::byte> endpoint) {
    return Handshake(2, instance, bytes_of(secret))
        .join(ControlKind::join, target, *encode_address(own_address(secret)), endpoint);
  }
  /// An endpoint's address that none has.
  Join question(const char* secret) {
    const std::vector<std::byte> endpoint(
        interface->endpoint_address(interface->make_endpoint()->get())->size());
    return question(secret, endpoint);
  }
  UniqueFd dial() { return begin_connection(target.joining.hosts.front(), target.joining.port); }
  /// Waits until the device hangs up; how many bytes it answered before.
  std::size_t answered(const UniqueFd& socket) {
    std::size_t all = 0;
    ssize_t came = -1;
    EXPECT_TRUE(drive({device.get()}, [&] {
      std::array<std::byte, 64> bytes{};
      came = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
      if (came > 0) all += static_cast<std::size_t>(came);
      return came == 0 || (came < 0 && errno != EAGAIN);
    })) << "the device does not hang up";
    return all;
  }
  void say(const UniqueFd& socket, const Join& what, std::size_t bytes = sizeof(Join)) {
    Transfer sent;
    ASSERT_TRUE(drive({device.get()}, [&] { return sent.send(socket, &what, bytes) == Moved::all; }));
  }
  /// A device of this job connects to this one.
  void expect_service() {
    Peer other(uct_provider(), 9);
    other.connect(*device);
    EXPECT_TRUE(drive({device.get(), &other}, [&] { return device->ups.count(9) == 1; }));
  }

  const std::uint64_t instance = random_word();
  std::unique_ptr<Peer> device;
  Address target;
  std::unique_ptr<Interface> interface;
  std::vector<std::vector<std::byte>> answers;
};

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
  OwnEndpoint endpoint;
  const Handshake handshake(2, instance, bytes_of(kSecret));
  const Door lives = *Door::open(instance);
  for (int i = 0; i < 2; ++i) {  // the first is given up
    auto made = interface->make_endpoint();
    ASSERT_TRUE(made.has_value());
    endpoint = *std::move(made);
    const UniqueFd socket = dial();
    say(socket, question(kSecret, *interface->endpoint_address(endpoint.get())));
    Join answer;
    Transfer came;
    ASSERT_TRUE(
        drive({device.get()}, [&] { return came.receive(socket, &answer, sizeof answer) == Moved::all; }));
    Address from;
    ASSERT_TRUE(handshake.read(answer, ControlKind::joined, from));
    EXPECT_EQ(from.instance, target.instance);
    ASSERT_TRUE(
        interface->join(endpoint.get(), target.device, {answer.endpoint, answer.endpoint_bytes}).has_value());
  }
  EXPECT_TRUE(device->ups.empty()) << "an endpoint alone is no link";
  const Hello hello = handshake.hello(target, Prefix(0, 77), *encode_address(own_address(kSecret)));
  const auto pack = [](void* out, void* arg) -> std::size_t {
    const auto& one = *static_cast<const Hello*>(arg);
    std::memcpy(out, &one, Handshake::bytes_of(one));
    return Handshake::bytes_of(one);
  };
  bool is_said = false;
  EXPECT_TRUE(drive({device.get()}, [&] {
    interface->progress();
    if (!is_said)
      is_said = uct_ep_am_bcopy(endpoint.get(), static_cast<std::uint8_t>(Am::control), pack,
                                const_cast<Hello*>(&hello), 0) >= 0;
    return !answers.empty();
  }));
  EXPECT_EQ(device->ups.size(), 1u);
  device->close(0);
}

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
