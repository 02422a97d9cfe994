// What comes from others than this job's devices: an interface of UCX that finds the device, and says what it
// likes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

#include "tests/contract/peer.hpp"
#include "transport/uct/handshake.hpp"
#include "transport/uct/interface.hpp"
#include "transport/uct/uct.hpp"

namespace stria::uct {
namespace {

using contract::drive;
using contract::Peer;

constexpr const char* kSecret = "a secret of sixteen";  // of contract::Peer

std::span<const std::byte> bytes_of(const char* text) {
  return std::as_bytes(std::span(text, std::strlen(text)));
}

class Stranger : public testing::TestWithParam<const char*> {
 protected:
  Stranger() {
    ::setenv("STRIA_UCT_TRANSPORT", GetParam(), 1);
    device = std::make_unique<Peer>(uct_provider(), 1);
    const Interface::Calls calls{this,
                                 [](void* self, Am, std::span<const std::byte> bytes, bool) noexcept {
                                   auto& me = *static_cast<Stranger*>(self);
                                   me.answers.emplace_back(bytes.begin(), bytes.end());
                                   return false;
                                 },
                                 [](void*, uct_ep_h, ucs_status_t) noexcept {}};
    auto opened = Interface::open({GetParam(), "", 1000}, calls);
    if (!opened) throw std::runtime_error(opened.error().context);
    interface = *std::move(opened);
    target = *decode_address(device->address());
    endpoint = *interface->connect(target.device, target.interface);
  }
  ~Stranger() override { uct_ep_destroy(endpoint); }

  void send(Am id, std::span<const std::byte> bytes) {
    const auto pack = [](void* out, void* arg) -> std::size_t {
      const auto& data = *static_cast<std::span<const std::byte>*>(arg);
      if (!data.empty()) std::memcpy(out, data.data(), data.size());
      return data.size();
    };
    ASSERT_TRUE(drive({device.get()}, [&] {
      interface->progress();
      return uct_ep_am_bcopy(endpoint, static_cast<std::uint8_t>(id), pack, &bytes, 0) >= 0;
    }));
  }
  void settle(int rounds = 2000) {
    for (int i = 0; i < rounds; ++i) {
      device->progress();
      interface->progress();
    }
  }
  Hello hello(const char* secret, std::uint64_t worker, std::uint64_t instance, Prefix reply) {
    Address own{instance,
                worker,
                0,
                own_whereabouts(),
                4000,
                0,
                GetParam(),
                *interface->device_address(),
                *interface->interface_address()};
    own.check = own.expected_check(bytes_of(secret));
    return Handshake(worker, instance, bytes_of(secret)).hello(target, reply, *encode_address(own));
  }
  void send(const Hello& one) {
    send(Am::control, {reinterpret_cast<const std::byte*>(&one), Handshake::bytes_of(one)});
  }
  /// A device of this job that is nothing but its door.
  std::uint64_t open_door() {
    const std::uint64_t instance = random_word();
    doors.push_back(*Door::open(instance));
    return instance;
  }

  std::unique_ptr<Peer> device;
  std::unique_ptr<Interface> interface;
  Address target;
  uct_ep_h endpoint = nullptr;
  std::vector<std::vector<std::byte>> answers;
  std::vector<Door> doors;
};

TEST_P(Stranger, that_does_not_know_the_secret_gets_nothing) {
  send(hello("another secret", 2, open_door(), Prefix(0, 77)));
  settle();
  EXPECT_TRUE(device->ups.empty());
  EXPECT_TRUE(answers.empty());
  send(hello(kSecret, 2, open_door(), Prefix(0, 77)));
  ASSERT_TRUE(drive({device.get()}, [&] {
    interface->progress();
    return !answers.empty();
  })) << "one that knows it is answered";
  EXPECT_EQ(device->ups.size(), 1u);
}

TEST_P(Stranger, that_sends_packets_and_control_messages_of_all_lengths_is_not_heard) {
  send(hello(kSecret, 2, open_door(), Prefix(0, 77)));
  ASSERT_TRUE(drive({device.get()}, [&] {
    interface->progress();
    return !answers.empty();
  }));
  Welcome welcome;
  ASSERT_EQ(answers.front().size(), sizeof welcome);
  std::memcpy(&welcome, answers.front().data(), sizeof welcome);
  contract::Bytes noise = contract::pattern(3, 400);
  for (const std::uint64_t prefix : {std::uint64_t{0}, welcome.reply_prefix ^ (std::uint64_t{1} << 40),
                                     welcome.reply_prefix + 1, ~std::uint64_t{0}}) {
    std::memcpy(noise.data(), &prefix, sizeof prefix);
    for (const std::size_t bytes : {0, 1, 7, 8, 16, 23, 24, 25, 48, 56, 312, 400})
      for (const Am id : {Am::short_packet, Am::buffered, Am::control})
        send(id, std::span(noise).first(bytes));
    const Control bye{prefix, ControlKind::bye};
    send(Am::control, {reinterpret_cast<const std::byte*>(&bye), sizeof bye});
  }
  // Cut packets with the right prefix.
  std::memcpy(noise.data(), &welcome.reply_prefix, sizeof welcome.reply_prefix);
  for (const std::size_t bytes : {8, 23}) send(Am::buffered, std::span(noise).first(bytes));
  settle();
  EXPECT_TRUE(device->received.empty());
  EXPECT_TRUE(device->downs.empty());
  send(Am::buffered, std::span(noise).first(24 + 5));
  EXPECT_TRUE(drive({device.get()}, [&] { return device->received.size() == 1; }))
      << "and a whole one is taken";
}

TEST_P(Stranger, hello_that_comes_twice_is_one_link_and_a_new_one_ends_the_earlier_link) {
  const std::uint64_t instance = open_door();
  const Hello first = hello(kSecret, 2, instance, Prefix(0, 77));
  for (int i = 0; i < 3; ++i) send(first);
  settle();
  EXPECT_EQ(device->ups.size(), 1u);
  EXPECT_TRUE(device->downs.empty());
  send(hello(kSecret, 2, instance, Prefix(0, 78)));  // the peer has given up, and connects again
  ASSERT_TRUE(drive({device.get()}, [&] { return device->downs.size() == 1; }));
  send(hello(kSecret, 2, open_door(), Prefix(0, 79)));  // a new device of the same worker
  ASSERT_TRUE(drive({device.get()}, [&] { return device->downs.size() == 2; }));
  EXPECT_EQ(device->ups.size(), 1u) << "the last one is up";
}

TEST_P(Stranger, address_of_another_job_is_refused_at_once) {
  Peer other(uct_provider(), 5, "another secret");
  contract::Contact contact{.worker = 5};
  stria_status_t status = STRIA_OK;
  EXPECT_EQ(device->try_connect(other.address(), contact, status), nullptr);
  EXPECT_EQ(status, STRIA_ERR_UNREACHABLE);
  EXPECT_NE(device->error().find("job secret"), std::string::npos) << device->error();
}

INSTANTIATE_TEST_SUITE_P(Uct, Stranger, testing::Values("tcp", "posix"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace stria::uct
