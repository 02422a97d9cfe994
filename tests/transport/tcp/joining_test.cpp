// Which records of a device go together, and when: seen by a peer that reads its socket itself.
#include <linux/tcp.h>
#include <netinet/in.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/transport/tcp/device_rig.hpp"
#include "transport/tcp/kernel_queue.hpp"
#include "transport/tcp/record.hpp"
#include "transport/tcp/wakeup.hpp"

namespace stria::tcp {
namespace {

constexpr std::uint64_t kSelf = 2;

struct TcpJoining : testing::TestWithParam<const char*> {
  void SetUp() override {
    ::setenv("STRIA_TCP_ENGINE", GetParam(), 1);
    const UniqueFd any(::dup(0));  // a device has a ring of each kind
    const auto wakeup = Wakeup::open(any.get());
    const auto queue = KernelQueue::open();
    if (has_deadlines() && !wakeup) GTEST_SKIP() << wakeup.error().context;
    if (has_deadlines() && !queue) GTEST_SKIP() << queue.error().context;
    device = std::make_unique<Peer>(tcp_provider(), 1);
    const Handshake own(kSelf, 22, 65536, bytes_of(kSecret), {});
    const Address target = read_address(*device);
    Attempt attempt(own, target, Route{target.ips.front()}, now_ms());
    ASSERT_EQ(shake_hands(*device, attempt, own), Attempt::State::welcome);
    socket = attempt.take_socket();
    ASSERT_TRUE(drive({device.get()}, [&] { return device->ups.count(kSelf) == 1; }));
    link = device->ups[kSelf];
  }
  ~TcpJoining() override { ::unsetenv("STRIA_TCP_ENGINE"); }
  static bool has_deadlines() { return std::string_view(GetParam()) == "uring"; }
  void send() {
    const contract::Bytes data = contract::pattern(sent, 40);
    ASSERT_EQ(device->try_send(link, contract::header(static_cast<std::uint16_t>(sent++)),
                               contract::contiguous(const_cast<std::byte*>(data.data()), data.size())),
              Status::ok);
  }
  /// Takes what is in the socket: packets are checked and counted, and padding is.
  void take() {
    std::array<std::byte, 65536> some;
    const ssize_t got = ::recv(socket.get(), some.data(), some.size(), MSG_DONTWAIT);
    if (got > 0) stream.insert(stream.end(), some.begin(), some.begin() + got);
    RecordHead head;
    while (stream.size() >= sizeof head) {
      std::memcpy(&head, stream.data(), sizeof head);
      const std::size_t all = sizeof head + head.bytes;
      if (stream.size() < all) return;
      const contract::Bytes payload(stream.begin() + sizeof head,
                                    stream.begin() + static_cast<std::ptrdiff_t>(all));
      if (head.kind == RecordKind::padding) {
        ++paddings;
      } else if (head.kind == RecordKind::again) {
        std::uint64_t index = 0;
        ASSERT_EQ(payload.size(), sizeof index);
        std::memcpy(&index, payload.data(), sizeof index);
        is_here = index + 1 == came;
        EXPECT_TRUE(is_here || index == came);
      } else {
        EXPECT_EQ(head.kind, RecordKind::packet);
        if (is_here) --came;
        is_here = false;
        EXPECT_EQ(payload, contract::pattern(came++, 40));
      }
      stream.erase(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(all));
    }
  }
  /// Until all is here that was sent; the device is not called.
  void take_all() {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (came < sent && std::chrono::steady_clock::now() < limit) take();
    EXPECT_EQ(came, sent);
  }
  std::uint32_t segments() const {
    tcp_info info{};
    socklen_t bytes = sizeof info;
    EXPECT_EQ(::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &bytes), 0);
    return info.tcpi_data_segs_in;
  }
  std::unique_ptr<Peer> device;
  stria_link_t* link = nullptr;
  UniqueFd socket;
  contract::Bytes stream;
  std::uint64_t sent = 0, came = 0;
  int paddings = 0;
  bool is_here = false;  // the next packet is, and comes once more
};

TEST_P(TcpJoining, what_the_application_sends_is_there_without_another_call) {
  // A thread that is put aside between two sends gives each of them a reason to go at once.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  do {
    for (int i = 0; i < 6; ++i) send();
    take_all();
    if (HasFailure()) return;
    device->progress();
  } while (has_deadlines() && paddings == 0 && std::chrono::steady_clock::now() < limit);
  EXPECT_EQ(paddings > 0, has_deadlines()) << "what waits for others goes with padding at its deadline";
}

TEST_P(TcpJoining, what_another_thread_sends_behind_it_is_there_without_another_call) {
  for (int i = 0; i < 3; ++i) send();  // the third has a deadline
  std::thread([&] { send(); }).join();
  take_all();
}

TEST_P(TcpJoining, what_the_application_sends_is_there_after_the_next_call) {
  for (int i = 0; i < 100; ++i) send();
  device->progress();
  take_all();
}

TEST_P(TcpJoining, answers_of_one_call_are_two_segments_at_most) {
  constexpr std::uint16_t kPackets = 10;
  contract::Bytes all;
  for (std::uint16_t i = 0; i < kPackets; ++i) {
    const RecordHead head{0, RecordKind::packet, contract::header(i)};
    const auto bytes = std::as_bytes(std::span(&head, 1));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  device->on_deliver = [&](const contract::Received&) { send(); };
  const std::uint32_t before = segments();
  say(socket, all);
  ASSERT_TRUE(drive({device.get()}, [&] { return device->received.size() == kPackets; }));
  take();
  EXPECT_EQ(came, kPackets);
  EXPECT_LE(segments() - before, 2u);
}

INSTANTIATE_TEST_SUITE_P(by, TcpJoining, testing::Values("uring", "epoll"),
                         [](const auto& chosen) { return std::string(chosen.param); });

}  // namespace
}  // namespace stria::tcp
