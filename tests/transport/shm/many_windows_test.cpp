// Many peers with a window each: the idle ones are not polled, and nothing that comes through one is lost.
#include <poll.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/rounds.hpp"
#include "tests/transport/shm/node.hpp"
#include "transport/shm/device.hpp"

namespace stria::shm::test {
namespace {

constexpr unsigned kPeers = 40;
const Settings kMany = {{"STRIA_SHM_WINDOWS", "128"},     {"STRIA_SHM_WINDOW_BYTES", "4096"},
                        {"STRIA_SHM_PIO_MTU", "1K"},      {"STRIA_SHM_CELLS", "8"},
                        {"STRIA_SHM_CELL_BYTES", "4096"}, {"STRIA_SHM_MAX_PEERS", "128"},
                        {"STRIA_SHM_INBOX_SLOTS", "256"}, {"STRIA_SHM_KEYS", "64"}};

Device& device_of(const Node& node) {
  return *reinterpret_cast<Device*>(node.device());
}

/// One receiver, and peers that all have a window there.
struct Crowd {
  explicit Crowd(unsigned peers) : receiver(1, kMany) {
    for (unsigned i = 0; i < peers; ++i) {
      senders.push_back(std::make_unique<Node>(100 + i, kMany));
      links.push_back(senders.back()->connect(receiver));
      EXPECT_NE(links.back(), nullptr) << senders.back()->error;
      EXPECT_GT(senders.back()->limits(links.back()).pio_max, 0u) << "a window for each";
    }
    while (receiver.ups.size() < peers) receiver.progress();
    EXPECT_EQ(device().windows_open(), peers);
  }
  Device& device() { return device_of(receiver); }
  /// Nothing comes for as long as the device takes to call them idle.
  void rest() {
    for (int i = 0; i < 2; ++i) receiver.check();
  }
  Status send(unsigned i, std::uint64_t tag) {
    return senders[i]->pio(links[i], header(tag), pattern(tag, 8));
  }
  /// What progress() calls deliver until they find nothing.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> take() {
    receiver.got.clear();
    while (receiver.progress() != 0) continue;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
    for (const Got& one : receiver.got) out.emplace_back(one.from, one.header.tag);
    return out;
  }

  Node receiver;
  std::vector<std::unique_ptr<Node>> senders;
  std::vector<stria_link_t*> links;
};

TEST(ShmManyWindows, that_never_empty_leave_room_for_the_inbox) {
  Settings two = kMany;
  two["STRIA_SHM_WINDOWS"] = "2";
  Node receiver(1, two), first(2, kMany), second(3, kMany), third(4, kMany);
  stria_link_t* const flood[] = {first.connect(receiver), second.connect(receiver)};
  Node* const flooding[] = {&first, &second};
  stria_link_t* const through_inbox = third.connect(receiver);
  ASSERT_NE(through_inbox, nullptr) << third.error;
  ASSERT_EQ(third.limits(through_inbox).pio_max, 0u) << "there are two windows";
  std::uint64_t tag = 0;
  bool came = false;
  for (int i = 0; i < 100 && !came; ++i) {
    for (int f = 0; f < 2; ++f)
      while (flooding[f]->pio(flood[f], header(tag), pattern(tag, 8)) == Status::ok) ++tag;
    if (i == 10) {
      ASSERT_EQ(third.eager(through_inbox, header(7), pattern(7, 8)), Status::ok);
    }
    receiver.got.clear();
    EXPECT_LE(receiver.progress(64), 64u);
    for (const Got& one : receiver.got) came = came || one.from == 4;
  }
  EXPECT_TRUE(came);
}

TEST(ShmManyWindows, only_those_in_use_are_polled) {
  Crowd crowd(kPeers);
  EXPECT_EQ(crowd.device().windows_polled(), kPeers) << "new ones are taken to be busy";
  crowd.rest();
  EXPECT_EQ(crowd.device().windows_polled(), PolledWindows::kKeptHot);
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < 20; ++i) ASSERT_EQ(crowd.send(i, round), Status::ok);
    EXPECT_EQ(crowd.take().size(), 20u);
    EXPECT_GE(crowd.device().windows_polled(), 20u);
    EXPECT_LE(crowd.device().windows_polled(), 20u + PolledWindows::kKeptHot);
    crowd.receiver.check();
  }
  crowd.rest();
  EXPECT_EQ(crowd.device().windows_polled(), PolledWindows::kKeptHot);
}

TEST(ShmManyWindows, a_few_are_polled_always) {
  Crowd crowd(PolledWindows::kKeptHot);
  crowd.rest();
  EXPECT_EQ(crowd.device().windows_polled(), PolledWindows::kKeptHot);
}

TEST(ShmManyWindows, every_peer_gets_through_the_first_progress_after_it_was_idle) {
  Crowd crowd(kPeers);
  std::uint64_t tag = 0;
  for (unsigned round = 0; round < 4; ++round) {
    for (unsigned i = 0; i < kPeers; ++i) {
      crowd.rest();
      ASSERT_EQ(crowd.send(i, ++tag), Status::ok);
      ASSERT_EQ(crowd.send(i, ++tag), Status::ok);
      EXPECT_EQ(crowd.receiver.progress(), 2u) << "peer " << i;
      EXPECT_EQ(crowd.receiver.got.back().from, 100u + i);
      EXPECT_EQ(crowd.receiver.got.back().header.tag, tag);
    }
  }
}

TEST(ShmManyWindows, a_cold_window_keeps_the_order_of_its_peer_and_no_hint_is_left) {
  Crowd crowd(kPeers);
  std::mt19937 random(7);
  std::vector<std::uint64_t> next(kPeers), expected(kPeers);
  for (int round = 0; round < 300; ++round) {
    for (int i = 0; i < 30; ++i) {
      const unsigned peer = random() % kPeers;
      if (crowd.send(peer, next[peer]) == Status::ok) ++next[peer];
    }
    for (const auto& [from, tag] : crowd.take()) ASSERT_EQ(tag, expected[from - 100]++);
    if (random() % 3 == 0) crowd.receiver.check();
  }
  EXPECT_EQ(next, expected);
  EXPECT_EQ(crowd.receiver.progress(), 0u);
}

TEST(ShmManyWindows, a_record_from_before_its_window_became_cold_is_delivered) {
  Crowd crowd(kPeers);
  for (unsigned i = 0; i < kPeers; ++i) ASSERT_EQ(crowd.send(i, i), Status::ok);
  EXPECT_EQ(crowd.take().size(), kPeers);
  crowd.receiver.check();
  ASSERT_EQ(crowd.device().windows_polled(), kPeers);
  // They publish while their windows are hot, and the receiver looks away until it calls them idle.
  for (unsigned i = 0; i < kPeers; ++i) ASSERT_EQ(crowd.send(i, i), Status::ok);
  crowd.receiver.check();
  EXPECT_EQ(crowd.device().windows_polled(), kPeers) << "what has something in it is not idle";
  EXPECT_EQ(crowd.take().size(), kPeers);
}

TEST(ShmManyWindows, a_cold_window_wakes_a_sleeper) {
  Crowd crowd(kPeers);
  const auto& table = Node::table();
  const int fd = table.event_fd(crowd.receiver.device());
  ASSERT_GE(fd, 0);
  for (unsigned i = 0; i < kPeers; ++i) {
    crowd.rest();
    ASSERT_EQ(table.arm(crowd.receiver.device()), STRIA_OK) << i;
    if (i % 2 == 1) crowd.receiver.check();  // as a waiter does, without an end of its sleep
    pollfd wakeup{fd, POLLIN, 0};
    ASSERT_EQ(::poll(&wakeup, 1, 0), 0);
    ASSERT_EQ(crowd.send(i, i), Status::ok);
    ASSERT_EQ(::poll(&wakeup, 1, 1000), 1) << "peer " << i;
    EXPECT_EQ(crowd.receiver.progress(), 1u);
    // Something that comes before it sleeps keeps it awake.
    crowd.rest();
    ASSERT_EQ(crowd.send(i, i), Status::ok);
    EXPECT_EQ(table.arm(crowd.receiver.device()), STRIA_ERR_NO_RESOURCE);
    EXPECT_EQ(crowd.receiver.progress(), 1u);
  }
}

TEST(ShmManyWindows, what_a_dead_peer_left_in_a_cold_window_is_delivered) {
  Crowd crowd(kPeers);
  crowd.rest();
  ASSERT_EQ(crowd.send(kPeers - 1, 5), Status::ok);
  crowd.senders[kPeers - 1]->close(0);
  crowd.receiver.check();
  ASSERT_EQ(crowd.receiver.got.size(), 1u);
  EXPECT_EQ(crowd.receiver.downs.size(), 1u);
  EXPECT_EQ(crowd.device().windows_open(), kPeers - 1);
  for (unsigned i = 0; i + 1 < kPeers; ++i) ASSERT_EQ(crowd.send(i, i), Status::ok);
  EXPECT_EQ(crowd.take().size(), kPeers - 1) << "the others are found where they are now";
}

TEST(ShmManyWindows, nothing_is_lost_while_windows_change_under_way) {
  Crowd crowd(20);
  std::atomic<std::uint64_t> arrived{0};
  std::atomic<bool> over{false};
  crowd.receiver.on_deliver = [&](const Got& one) {
    EXPECT_EQ(one.header.tag, arrived.load());
    arrived.fetch_add(1);
  };
  // One message at a time: a hint that is lost is a wait without end.
  const auto messages = static_cast<std::uint64_t>(stria::test::rounds(6000));
  std::thread sending([&] {
    std::mt19937 random(11);
    for (std::uint64_t tag = 0; tag < messages && !over.load(); ++tag) {
      const unsigned peer = random() % 20;
      while (crowd.send(peer, tag) != Status::ok && !over.load()) std::this_thread::yield();
      while (arrived.load() <= tag && !over.load()) std::this_thread::yield();
    }
  });
  std::uint64_t colder = 0;
  const bool all = until([&] { return arrived.load() == messages; },
                         [&] {
                           crowd.receiver.progress();
                           const std::uint32_t before = crowd.device().windows_polled();
                           crowd.receiver.check();
                           colder += crowd.device().windows_polled() < before ? 1 : 0;
                         },
                         300);
  over.store(true);
  sending.join();
  EXPECT_TRUE(all) << arrived.load() << " of " << messages << " arrived";
  EXPECT_GT(colder, messages / 20) << "the windows did not change";
}

}  // namespace
}  // namespace stria::shm::test
