// Limits as a link states them, sleeping, memory for peers, and how links end.
#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <tuple>

#include "tests/contract/subject.hpp"

namespace stria::contract {
namespace {

using LinkContract = Contract;

TEST_P(LinkContract, limits_are_within_the_capabilities_and_true) {
  auto a = open(1);
  auto b = open(2);
  for (int low_latency : {0, 1}) {
    stria_link_t* link = a->connect(low_latency != 0 ? *b : *a, low_latency);
    drive_for({a.get(), b.get()}, 100);
    const auto device = a->capabilities();
    const auto limits = a->limits(link);
    EXPECT_LE(limits.pio_max, device.pio_max);
    EXPECT_LE(limits.eager_max, device.eager_max);
    EXPECT_GT(limits.eager_max, 0u);
    EXPECT_LE(limits.pio_credits, device.pio_window_bytes);
    if (!a->has(STRIA_CAP_PIO)) {
      EXPECT_EQ(limits.pio_max, 0u);
    }
    if (limits.low_latency != 0) {
      EXPECT_GT(limits.pio_max, 0u) << "a low latency link has a window";
    }
    const std::tuple<const char*, std::uint32_t, std::uint64_t> facts[] = {
        {"can_get", limits.can_get, STRIA_CAP_GET},           {"can_put", limits.can_put, STRIA_CAP_PUT},
        {"can_atomic", limits.can_atomic, STRIA_CAP_ATOMICS}, {"gathers", limits.gathers, STRIA_CAP_GET},
        {"zcopy_max", limits.zcopy_max, STRIA_CAP_ZCOPY},     {"offload", limits.offload, STRIA_CAP_OFFLOAD},
        {"can_map", limits.can_map, STRIA_CAP_MAP_MEMORY},    {"grows", limits.grows, STRIA_CAP_GROWING}};
    for (const auto& [name, fact, capability] : facts)
      EXPECT_TRUE(fact == 0 || a->has(capability)) << name << " of a device that cannot";
    ASSERT_NE(limits.path, nullptr);
    ASSERT_NE(limits.fallback, nullptr);
    EXPECT_NE(std::string_view(limits.path), "");
  }
}

bool readable(int fd, int timeout_ms) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, timeout_ms) == 1 && (entry.revents & POLLIN) != 0;
}

/// Progresses until nothing waits: arm answered OK.
bool settle(Peer& peer, Peer& other) {
  return drive({&other, &peer}, [&] { return peer.table().arm(peer.device()) == STRIA_OK; });
}

TEST_P(LinkContract, an_armed_device_wakes_its_descriptor_for_every_kind_of_packet) {
  auto a = open(1);
  auto b = open(2);
  if (!b->has(STRIA_CAP_EVENT_FD)) GTEST_SKIP() << lacks("an event descriptor");
  const int fd = b->table().event_fd(b->device());
  ASSERT_GE(fd, 0);
  stria_link_t* link = a->connect(*b);
  ASSERT_EQ(send({a.get(), b.get()}, *a, link, Path::buffered, header(0), pattern(0, 8)), Status::ok);
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
  for (const Path path : paths(*a, link)) {
    for (int round = 0; round < 20; ++round) {
      const std::size_t before = b->received.size();
      ASSERT_TRUE(settle(*b, *a));
      EXPECT_FALSE(readable(fd, 0)) << "readable although nothing came";
      const Bytes data = pattern(5, 8);
      ASSERT_TRUE(drive({a.get()}, [&] {
        return a->try_send(link, path, header(5), data.data(), data.size()) == Status::ok;
      }));
      ASSERT_TRUE(readable(fd, 30000)) << "asleep although a packet came";
      ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == before + 1; }));
    }
  }
}

TEST_P(LinkContract, arming_with_a_packet_waiting_asks_for_progress_first) {
  auto a = open(1);
  auto b = open(2);
  if (!b->has(STRIA_CAP_EVENT_FD)) GTEST_SKIP() << lacks("an event descriptor");
  stria_link_t* link = a->connect(*b);
  ASSERT_EQ(send({a.get(), b.get()}, *a, link, Path::buffered, header(0), pattern(0, 8)), Status::ok);
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
  ASSERT_TRUE(settle(*b, *a));
  const Bytes data = pattern(1, 8);
  ASSERT_TRUE(drive({a.get()}, [&] {
    return a->try_send(link, Path::buffered, header(1), data.data(), data.size()) == Status::ok;
  }));
  ASSERT_TRUE(readable(b->table().event_fd(b->device()), 30000));
  EXPECT_EQ(b->table().arm(b->device()), STRIA_ERR_NO_RESOURCE);
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 2; }));
}

TEST_P(LinkContract, a_sleeping_device_never_misses_a_packet_of_another_thread) {
  auto a = open(1);
  auto b = open(2);
  if (!b->has(STRIA_CAP_EVENT_FD)) GTEST_SKIP() << lacks("an event descriptor");
  stria_link_t* link = a->connect(*b);
  constexpr std::size_t kPackets = 400;
  std::atomic<bool> done = false;
  std::thread sender([&] {
    for (std::uint16_t i = 0; i < kPackets;) {
      const Bytes data = pattern(i, 32);
      if (a->try_send(link, Path::buffered, header(i), data.data(), data.size()) == Status::ok)
        ++i;
      else
        std::this_thread::yield();
      a->progress();
      if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    while (!done) {  // what a provider has taken over may go with a later call only
      a->progress();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  const int fd = b->table().event_fd(b->device());
  bool asleep = false;
  while (b->received.size() < kPackets && !asleep) {
    while (b->progress() > 0) {
    }
    if (b->received.size() == kPackets || b->table().arm(b->device()) != STRIA_OK) continue;
    asleep = !readable(fd, 10000);
  }
  EXPECT_FALSE(asleep) << "slept 10 s with " << b->received.size() << " of " << kPackets
                       << " packets received";
  done = true;
  sender.join();
  for (std::size_t i = 0; i < b->received.size(); ++i) ASSERT_EQ(b->received[i].header.sequence, i);
}

TEST_P(LinkContract, closing_lets_peers_take_over_what_was_sent) {
  auto a = open(1);
  auto b = open(2);
  stria_link_t* link = a->connect(*b);
  std::uint16_t sent = 0;
  drive({a.get(), b.get()}, [&] {  // until the link is up
    const Bytes data = pattern(0, 50);
    return a->try_send(link, Path::buffered, header(0), data.data(), data.size()) == Status::ok && ++sent > 0;
  });
  for (const Path path : paths(*a, link)) {
    for (int i = 0; i < 40; ++i) {
      const Bytes data = pattern(sent, 50);
      if (a->try_send(link, path, header(sent), data.data(), data.size()) == Status::ok) ++sent;
    }
  }
  std::atomic<bool> closed = false;
  std::thread closer([&] {
    a->close(10000);
    closed = true;
  });
  EXPECT_TRUE(drive({b.get()}, [&] { return closed.load() && b->downs.size() == 1; }));
  closer.join();
  ASSERT_EQ(b->received.size(), sent);
  std::vector<int> seen(sent);
  for (const Received& got : b->received) {
    EXPECT_EQ(got.payload, pattern(got.header.sequence, 50));
    ++seen.at(got.header.sequence);
  }
  for (const int times : seen) EXPECT_EQ(times, 1);
}

TEST_P(LinkContract, close_returns_when_a_peer_takes_nothing) {
  auto a = open(1);
  auto b = open(2);
  stria_link_t* link = a->connect(*b);
  const Bytes data = pattern(0, 50);
  for (int i = 0; i < 100; ++i) {
    static_cast<void>(a->try_send(link, Path::buffered, header(0), data.data(), data.size()));
    a->progress();
  }
  const auto start = std::chrono::steady_clock::now();
  a->close(100);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST_P(LinkContract, a_peer_that_leaves_brings_its_link_down_once) {
  auto a = open(1);
  auto b = open(2);
  auto c = open(3);
  stria_link_t* ab = a->connect(*b);
  stria_link_t* cb = c->connect(*b);
  ASSERT_EQ(send({a.get(), b.get()}, *a, ab, Path::buffered, header(1), pattern(1, 20)), Status::ok);
  ASSERT_EQ(send({c.get(), b.get()}, *c, cb, Path::buffered, header(2), pattern(2, 20)), Status::ok);
  ASSERT_TRUE(drive({a.get(), b.get(), c.get()}, [&] { return b->received.size() == 2; }));
  a->close(100);
  ASSERT_TRUE(drive({b.get(), c.get()}, [&] { return !b->downs.empty(); })) << "nobody noticed";
  drive_for({b.get(), c.get()}, 50);
  b->check();
  ASSERT_EQ(b->downs.size(), 1u);
  EXPECT_EQ(b->downs[0]->worker, 1u);
  EXPECT_TRUE(c->downs.empty());
  ASSERT_EQ(send({c.get(), b.get()}, *c, cb, Path::buffered, header(3), pattern(3, 20)), Status::ok);
  EXPECT_TRUE(drive({b.get(), c.get()}, [&] { return b->received.size() == 3; })) << "other links live on";
}

TEST_P(LinkContract, who_connected_learns_of_the_end_as_well) {
  auto a = open(1);
  auto b = open(2);
  stria_link_t* ab = a->connect(*b);
  ASSERT_EQ(send({a.get(), b.get()}, *a, ab, Path::buffered, header(1), pattern(1, 20)), Status::ok);
  ASSERT_TRUE(drive({a.get(), b.get()}, [&] { return b->received.size() == 1; }));
  b->close(100);
  ASSERT_TRUE(drive({a.get()}, [&] { return a->downs.size() == 1; })) << "nobody noticed";
  EXPECT_EQ(a->downs[0]->worker, 2u);
}

STRIA_CONTRACT_OF_CORE(LinkContract);

}  // namespace
}  // namespace stria::contract
