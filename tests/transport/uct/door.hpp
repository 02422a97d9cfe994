// A device whose endpoints are joined pairwise, and one that a test plays by hand: it dials the device's
// door, listens where the device asks, and joins endpoints of an interface of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "tests/contract/peer.hpp"
#include "transport/uct/handshake.hpp"
#include "transport/uct/interface.hpp"
#include "transport/uct/uct.hpp"

namespace stria::uct {

class UctDoor : public testing::Test {
 protected:
  using Peer = contract::Peer;
  using Contact = contract::Contact;
  static constexpr const char* kSecret = "a secret of sixteen";  // of contract::Peer
  static std::span<const std::byte> bytes_of(const char* text) {
    return std::as_bytes(std::span(text, std::strlen(text)));
  }

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
    Address own{
        instance, 2, 0, where, 4000, 0, "tcp", *interface->device_address(), *interface->interface_address()};
    own.joining = joining;
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
    EXPECT_TRUE(contract::drive({device.get()}, [&] {
      std::array<std::byte, 64> bytes{};
      came = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
      if (came > 0) all += static_cast<std::size_t>(came);
      return came == 0 || (came < 0 && errno != EAGAIN);
    })) << "the device does not hang up";
    return all;
  }
  void say(const UniqueFd& socket, const Join& what, std::size_t bytes = sizeof(Join)) {
    Transfer sent;
    ASSERT_TRUE(
        contract::drive({device.get()}, [&] { return sent.send(socket, &what, bytes) == Moved::all; }));
  }
  /// A device of this job connects to this one.
  void expect_service() {
    Peer other(uct_provider(), 9);
    other.connect(*device);
    EXPECT_TRUE(contract::drive({device.get(), &other}, [&] { return device->ups.count(9) == 1; }));
  }

  struct Joined {
    UniqueFd socket;
    OwnEndpoint endpoint;
  };
  /// Asks the device for an endpoint, and joins one with it.
  Joined join() {
    Joined out{dial(), *interface->make_endpoint()};
    say(out.socket, question(kSecret, *interface->endpoint_address(out.endpoint.get())));
    Join answer;
    Transfer came;
    EXPECT_TRUE(contract::drive(
        {device.get()}, [&] { return came.receive(out.socket, &answer, sizeof answer) == Moved::all; }));
    Address from;
    EXPECT_TRUE(Handshake(2, instance, bytes_of(kSecret)).read(answer, ControlKind::joined, from));
    EXPECT_EQ(from.instance, target.instance);
    EXPECT_TRUE(interface->join(out.endpoint.get(), target.device, {answer.endpoint, answer.endpoint_bytes})
                    .has_value());
    return out;
  }
  /// Connects by it, until the device has answered.
  void say_hello(const Joined& joined) {
    const Hello hello = Handshake(2, instance, bytes_of(kSecret))
                            .hello(target, Prefix(0, 77), *encode_address(own_address(kSecret)));
    const auto pack = [](void* out, void* arg) -> std::size_t {
      const auto& one = *static_cast<const Hello*>(arg);
      std::memcpy(out, &one, Handshake::bytes_of(one));
      return Handshake::bytes_of(one);
    };
    bool is_said = false;
    EXPECT_TRUE(contract::drive({device.get()}, [&] {
      interface->progress();
      if (!is_said)
        is_said = uct_ep_am_bcopy(joined.endpoint.get(), static_cast<std::uint8_t>(Am::control), pack,
                                  const_cast<Hello*>(&hello), 0) >= 0;
      return !answers.empty();
    }));
  }

  /// Answers an ask of the device.
  Joined be_joined(UniqueFd socket, const Join& asked) {
    Address from;
    const Handshake handshake(2, instance, bytes_of(kSecret));
    EXPECT_TRUE(handshake.read(asked, ControlKind::join, from));
    Joined out{std::move(socket), *interface->make_endpoint()};
    const auto own = *interface->endpoint_address(out.endpoint.get());
    EXPECT_TRUE(
        interface->join(out.endpoint.get(), from.device, {asked.endpoint, asked.endpoint_bytes}).has_value());
    say(out.socket, handshake.join(ControlKind::joined, target, *encode_address(own_address(kSecret)), own));
    return out;
  }
  /// The device connects to this one.
  void be_connected_to() {
    stria_status_t status = STRIA_OK;
    EXPECT_NE(device->try_connect(*encode_address(own_address(kSecret)), contact, status), nullptr)
        << device->error();
  }
  /// Its ask comes, by the connection that is answered.
  UniqueFd be_asked(const UniqueFd& door, Join& asked) {
    UniqueFd guest;
    Transfer came;
    EXPECT_TRUE(contract::drive({device.get()}, [&] {
      if (!guest) guest = accept_connection(door);
      return guest && came.receive(guest, &asked, sizeof asked) == Moved::all;
    })) << "the device does not ask";
    return guest;
  }
  /// The first control message of the device by an endpoint.
  ControlKind first_answer() {
    EXPECT_TRUE(contract::drive({device.get()}, [&] {
      interface->progress();
      return !answers.empty();
    }));
    Control control;
    if (!answers.empty()) std::memcpy(&control, answers.front().data(), sizeof control);
    return control.kind;
  }

  Whereabouts where = own_whereabouts();
  TcpPlace joining{};
  Contact contact{.worker = 2};
  std::uint64_t instance = random_word();
  std::unique_ptr<Peer> device;
  Address target;
  std::unique_ptr<Interface> interface;
  std::vector<std::vector<std::byte>> answers;
};

}  // namespace stria::uct
