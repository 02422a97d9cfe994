// Windows go from idle peers to busy ones, and nothing is lost or overtaken on the way.
#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "tests/rounds.hpp"
#include "tests/transport/shm/node.hpp"
#include "transport/shm/device.hpp"

namespace stria::shm::test {
namespace {

constexpr unsigned kMany = 200;  // messages that make a peer busy

Settings few_windows(const char* windows) {
  return {{"STRIA_SHM_WINDOWS", windows},   {"STRIA_SHM_WINDOW_BYTES", "4096"},
          {"STRIA_SHM_PIO_MTU", "1K"},      {"STRIA_SHM_CELLS", "16"},
          {"STRIA_SHM_CELL_BYTES", "4096"}, {"STRIA_SHM_MAX_PEERS", "32"},
          {"STRIA_SHM_INBOX_SLOTS", "256"}, {"STRIA_SHM_KEYS", "64"}};
}

/// One receiver with few windows, and senders; all in one thread.
struct Scarce {
  Scarce(const char* windows, unsigned peers, bool first_is_low_latency = false)
      : receiver(1, few_windows(windows)), next(peers) {
    for (unsigned i = 0; i < peers; ++i) {
      senders.push_back(std::make_unique<Node>(100 + i, few_windows(windows)));
      links.push_back(senders.back()->connect(receiver, first_is_low_latency && i == 0));
      EXPECT_NE(links.back(), nullptr) << senders.back()->error;
    }
    receiver.on_deliver = [this](const Got& one) {
      const std::size_t i = one.from - 100;
      EXPECT_EQ(one.payload, pattern(one.header.tag, one.payload.size()));
      came[i].push_back(one.header.tag);
    };
    came.resize(peers);
    while (receiver.ups.size() < peers) receiver.progress();
  }
  bool has_window(unsigned i) const { return senders[i]->limits(links[i]).pio_max > 0; }
  void send(unsigned i, unsigned messages) {
    for (unsigned n = 0; n < messages; ++n) {
      const std::uint64_t tag = next[i]++;
      const auto put = [&] {
        return has_window(i) ? senders[i]->pio(links[i], header(tag), pattern(tag, 8))
                             : senders[i]->eager(links[i], header(tag), pattern(tag, 8));
      };
      while (put() != Status::ok) {
        receiver.progress();
        senders[i]->progress();
      }
    }
  }
  /// What all devices do now and then.
  void look() {
    while (receiver.progress() != 0) continue;
    receiver.check();
    for (auto& sender : senders) {
      sender->check();
      sender->progress();
    }
  }
  /// The second is busy until the first is asked for its window, and does not look yet.
  void ask_first() {
    for (int i = 0; i < 3; ++i) {
      send(1, kMany);
      while (receiver.progress() != 0) continue;
      receiver.check();
    }
  }
  void expect_all() {
    for (unsigned round = 0; round < 3; ++round) look();
    for (unsigned i = 0; i < came.size(); ++i) {
      ASSERT_EQ(came[i].size(), next[i]) << "of peer " << i;
      for (std::uint64_t tag = 0; tag < next[i]; ++tag) ASSERT_EQ(came[i][tag], tag) << "of peer " << i;
    }
  }

  Node receiver;
  std::vector<std::unique_ptr<Node>> senders;
  std::vector<stria_link_t*> links;
  std::vector<std::uint64_t> next;
  std::vector<std::vector<std::uint64_t>> came;
};

TEST(ShmWindowShare, a_busy_peer_gets_the_window_of_an_idle_one_and_gives_it_back_in_its_turn) {
  Scarce world("1", 2);
  ASSERT_TRUE(world.has_window(0));
  ASSERT_FALSE(world.has_window(1));
  for (unsigned turn = 0; turn < 6; ++turn) {
    const unsigned busy = turn % 2 == 0 ? 1 : 0;
    const int changes = world.senders[busy]->changes;
    unsigned looks = 0;
    for (; looks < 10 && !world.has_window(busy); ++looks) {
      world.send(busy, kMany);
      world.look();
    }
    EXPECT_TRUE(world.has_window(busy)) << "turn " << turn;
    EXPECT_FALSE(world.has_window(1 - busy)) << "turn " << turn;
    EXPECT_LE(looks, 6u);
    EXPECT_GT(world.senders[busy]->changes, changes) << "who uses the link is told";
    world.send(0, 10);
    world.send(1, 10);
  }
  world.expect_all();
}

TEST(ShmWindowShare, nobody_is_asked_while_a_window_is_free_or_no_peer_is_busy) {
  Scarce world("2", 2);
  ASSERT_TRUE(world.has_window(0) && world.has_window(1));
  for (int i = 0; i < 10; ++i) {
    world.send(1, kMany);
    world.look();
  }
  EXPECT_TRUE(world.has_window(0)) << "nobody wants it";
  Scarce other("1", 2);
  for (int i = 0; i < 10; ++i) {
    other.send(1, 10);
    other.look();
  }
  EXPECT_TRUE(other.has_window(0)) << "a few messages go by the inbox";
  other.expect_all();
}

TEST(ShmWindowShare, a_peer_that_sends_at_every_other_look_keeps_its_window) {
  Scarce world("1", 2);
  for (int i = 0; i < 20; ++i) {
    world.send(1, kMany);
    if (i % 2 == 0) world.send(0, 1);
    world.look();
  }
  EXPECT_TRUE(world.has_window(0));
  world.expect_all();
}

TEST(ShmWindowShare, a_peer_that_was_asked_and_sends_again_keeps_its_window) {
  Scarce world("1", 2);
  world.ask_first();
  world.send(0, 1);
  while (world.receiver.progress() != 0) continue;
  for (int i = 0; i < 3; ++i) world.senders[0]->check();
  EXPECT_TRUE(world.has_window(0));
  world.expect_all();
}

TEST(ShmWindowShare, a_low_latency_link_keeps_its_window) {
  Scarce world("1", 2, true);
  ASSERT_TRUE(world.has_window(0));
  for (int i = 0; i < 10; ++i) {
    world.send(1, kMany);
    world.look();
  }
  EXPECT_TRUE(world.has_window(0));
  world.expect_all();
}

TEST(ShmWindowShare, a_window_is_not_given_back_before_all_of_it_was_taken_out) {
  Scarce world("1", 2);
  world.ask_first();
  world.send(0, 5);
  for (int i = 0; i < 3; ++i) world.senders[0]->check();
  EXPECT_TRUE(world.has_window(0)) << "the receiver did not look";
  world.expect_all();
}

TEST(ShmWindowShare, a_window_that_is_on_its_way_comes_back_from_a_peer_that_ends) {
  Scarce world("1", 3);
  world.ask_first();
  for (int i = 0; i < 3; ++i) world.senders[0]->check();
  ASSERT_FALSE(world.has_window(0)) << "given back, and the receiver has not heard of it";
  world.senders[0]->close(0);
  for (int i = 0; i < 4 && !world.has_window(1); ++i) {
    world.send(1, kMany);
    world.receiver.progress();
    world.receiver.check();
    world.senders[1]->check();
  }
  ASSERT_TRUE(world.has_window(1));
  world.send(1, 5);
  while (world.receiver.progress() != 0) continue;
  EXPECT_EQ(reinterpret_cast<Device*>(world.receiver.device())->windows_open(), 1u);
}

TEST(ShmWindowShare, what_a_peer_wrote_into_a_new_window_is_delivered_when_it_ends) {
  Scarce world("1", 2);
  world.senders[0]->close(0);
  world.receiver.check();
  world.send(1, kMany);
  world.senders[1]->check();
  ASSERT_TRUE(world.has_window(1));
  while (world.receiver.progress() != 0) continue;
  ASSERT_EQ(world.came[1].size(), kMany);
  world.send(1, 5);
  world.senders[1]->close(0);
  world.receiver.check();  // before it looked anywhere
  EXPECT_EQ(world.came[1].size(), kMany + 5);
  EXPECT_EQ(world.receiver.downs.size(), 2u);
}

// Each path of a link keeps its order.
TEST(ShmWindowShare, nothing_in_the_inbox_is_overtaken_by_what_goes_by_a_new_window) {
  Scarce world("1", 2);
  world.senders[0]->close(0);
  world.receiver.check();
  world.senders[1]->check();
  world.send(1, kMany);
  world.senders[1]->check();
  ASSERT_TRUE(world.has_window(1));
  const auto eager = [&] {
    return world.senders[1]->eager(world.links[1], header(world.next[1]), pattern(world.next[1], 8));
  };
  EXPECT_EQ(eager(), Status::no_resource) << "all of it is still in the inbox";
  world.senders[1]->progress();
  EXPECT_EQ(eager(), Status::no_resource);
  world.receiver.progress(4);
  world.send(1, kMany);
  while (world.receiver.progress() != 0) continue;
  ASSERT_EQ(world.came[1].size(), world.next[1]);
  for (std::uint64_t tag = 0; tag < world.next[1]; ++tag) ASSERT_EQ(world.came[1][tag], tag);
}

TEST(ShmWindowShare, a_full_inbox_keeps_nobody_from_a_window) {
  Scarce world("1", 3);
  const auto fill_inbox = [&] {
    for (const unsigned peer : {1u, 2u}) {
      for (int n = 0; n < 300 && !world.has_window(peer); ++n) {
        const std::uint64_t tag = world.next[peer];
        if (world.senders[peer]->eager(world.links[peer], header(tag), pattern(tag, 8)) == Status::ok)
          ++world.next[peer];
      }
    }
  };
  bool changed = false;
  for (int i = 0; i < 20 && !changed; ++i) {
    fill_inbox();
    for (auto& sender : world.senders) sender->check();
    changed = world.has_window(1) || world.has_window(2);
    while (world.receiver.progress() != 0) continue;
    world.receiver.check();
  }
  EXPECT_TRUE(changed);
  world.expect_all();
}

TEST(ShmWindowShare, nothing_is_lost_while_windows_change_hands_under_way) {
  constexpr unsigned kPeers = 4;
  Scarce world("2", kPeers);
  constexpr std::uint64_t kChanges = 6;
  std::atomic<bool> over{false}, finished{false};
  std::atomic<std::uint64_t> sent{0};
  const auto messages = static_cast<std::uint64_t>(stria::test::rounds(300000));
  std::thread sending([&] {
    // Two of them are busy for a while, then other two.
    std::mt19937 random(5);
    std::uint64_t changes = 0;
    for (unsigned turn = 0; (sent.load() < messages || changes < kChanges) && !over.load(); ++turn) {
      const unsigned peer = (turn / 32 + random() % 2) % kPeers;
      const bool had = world.has_window(peer);
      for (unsigned n = 0; n < 300; ++n) {
        const std::uint64_t tag = world.next[peer];
        const Bytes data = pattern(tag, 8);
        const Status status = world.has_window(peer)
                                  ? world.senders[peer]->pio(world.links[peer], header(tag), data)
                                  : world.senders[peer]->eager(world.links[peer], header(tag), data);
        if (status != Status::ok) {
          world.senders[peer]->progress();
          std::this_thread::yield();
          continue;
        }
        ++world.next[peer];
        sent.fetch_add(1);
      }
      for (auto& sender : world.senders) sender->check();
      changes += world.has_window(peer) != had ? 1 : 0;
    }
    finished.store(true);
  });
  std::uint64_t round = 0;
  const bool all = until(
      [&] {
        std::uint64_t arrived = 0;
        for (const auto& one : world.came) arrived += one.size();
        return finished.load() && arrived == sent.load();
      },
      [&] {
        world.receiver.progress();
        if (++round % 64 == 0) world.receiver.check();
      },
      60);
  over.store(true);
  sending.join();
  EXPECT_TRUE(all) << sent.load() << " sent; it ends when windows changed hands " << kChanges << " times";
  world.expect_all();
}

}  // namespace
}  // namespace stria::shm::test
