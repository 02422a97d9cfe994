// What the fake promises beyond the contract: repeatable schedules, controlled trouble, and no patience with
// users who break the contract.
#include "transport/fake/fake.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "datatype/layout.hpp"
#include "tests/contract/peer.hpp"
#include "transport/fake/control.hpp"

namespace stria::fake {
namespace {

using contract::Bytes;
using contract::drive;
using contract::drive_for;
using contract::header;
using contract::Path;
using contract::pattern;
using contract::Peer;

struct World {
  explicit World(const FabricOptions& options, int count = 2) : fabric(make_fabric(options)) {
    const UseFabric use(fabric);
    for (int i = 1; i <= count; ++i)
      peers.push_back(std::make_unique<Peer>(fake_provider(), static_cast<std::uint64_t>(i)));
  }
  Peer& operator[](std::size_t i) { return *peers[i]; }
  std::shared_ptr<Fabric> fabric;
  std::vector<std::unique_ptr<Peer>> peers;
};

Status send(Peer& from, stria_link_t* link, Path path, std::uint16_t sequence) {
  const Bytes data = pattern(sequence, 20);
  return from.try_send(link, path, header(sequence), data.data(), data.size());
}

std::vector<std::uint16_t> order_of_a_run(std::uint64_t seed) {
  World world({.seed = seed, .delay = 6, .queue = 100, .no_resource_percent = 20}, 3);
  stria_link_t* first = world[0].connect(world[2]);
  stria_link_t* second = world[1].connect(world[2]);
  for (std::uint16_t i = 0; i < 60; ++i) {
    static_cast<void>(send(world[0], first, i % 3 == 0 ? Path::buffered : Path::pio, i));
    static_cast<void>(send(world[1], second, Path::pio, static_cast<std::uint16_t>(1000 + i)));
    world[2].progress(1);
  }
  drive_for({&world[2]}, 300);
  std::vector<std::uint16_t> order;
  for (const auto& got : world[2].received) order.push_back(got.header.sequence);
  return order;
}

TEST(Fake, one_seed_gives_one_schedule_and_another_seed_another) {
  const auto order = order_of_a_run(5);
  EXPECT_FALSE(order.empty());
  EXPECT_EQ(order, order_of_a_run(5));
  EXPECT_NE(order, order_of_a_run(6));
}

TEST(Fake, the_two_paths_of_a_link_overtake_each_other) {
  World world({.seed = 3, .delay = 8, .queue = 100});
  stria_link_t* link = world[0].connect(world[1]);
  for (std::uint16_t i = 0; i < 80; ++i)
    EXPECT_EQ(send(world[0], link, i % 2 == 0 ? Path::pio : Path::buffered, i), Status::ok);
  drive_for({&world[1]}, 300);
  ASSERT_EQ(world[1].received.size(), 80u);
  bool pio_first = false, buffered_first = false;
  for (std::size_t i = 1; i < 80; ++i) {
    const auto& before = world[1].received[i - 1];
    const auto& after = world[1].received[i];
    if (before.header.sequence < after.header.sequence) continue;
    pio_first = pio_first || before.path == Path::pio;
    buffered_first = buffered_first || before.path == Path::buffered;
  }
  EXPECT_TRUE(pio_first);
  EXPECT_TRUE(buffered_first);
  EXPECT_GT(statistics(*world.fabric).overtakes, 0u);
}

TEST(Fake, the_queue_takes_as_many_packets_as_it_says) {
  World world({.delay = 0, .queue = 7});
  stria_link_t* link = world[0].connect(world[1]);
  for (std::uint16_t i = 0; i < 7; ++i) ASSERT_EQ(send(world[0], link, Path::pio, i), Status::ok);
  EXPECT_EQ(send(world[0], link, Path::pio, 7), Status::no_resource);
  EXPECT_EQ(send(world[0], link, Path::buffered, 7), Status::no_resource);
  EXPECT_EQ(world[1].progress(3), 2u + 1u) << "peer_up and two packets";
  EXPECT_EQ(send(world[0], link, Path::buffered, 7), Status::ok);
}

TEST(Fake, a_blocked_link_holds_its_packets_and_leaves_others_alone) {
  World world({.delay = 2}, 3);
  stria_link_t* blocked = world[0].connect(world[2]);
  stria_link_t* open = world[1].connect(world[2]);
  ASSERT_TRUE(block(*world.fabric, 1, 3, true));
  EXPECT_FALSE(block(*world.fabric, 1, 2, true)) << "there is no such link";
  EXPECT_FALSE(block(*world.fabric, 1, 99, true)) << "there is no such device";
  EXPECT_EQ(send(world[0], blocked, Path::pio, 1), Status::ok);
  EXPECT_EQ(send(world[1], open, Path::pio, 2), Status::ok);
  drive_for({&world[2]}, 50);
  ASSERT_EQ(world[2].received.size(), 1u);
  EXPECT_EQ(world[2].received[0].header.sequence, 2);
  block(*world.fabric, 1, 3, false);
  drive_for({&world[2]}, 50);
  EXPECT_EQ(world[2].received.size(), 2u);
}

TEST(Fake, a_connection_in_progress_answers_no_resource_and_comes_up) {
  int waited = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world({.seed = seed, .connect_delay = 10});
    stria_link_t* link = world[0].connect(world[1]);
    Status status = Status::no_resource;
    for (int step = 0; step < 12 && status != Status::ok; ++step) {
      status = send(world[0], link, Path::pio, 1);
      if (status == Status::no_resource) ++waited;
      world[0].progress();
    }
    EXPECT_EQ(status, Status::ok) << "seed " << seed;
  }
  EXPECT_GT(waited, 20);
}

TEST(Fake, sends_are_refused_at_random_as_often_as_asked) {
  World world({.delay = 0, .no_resource_percent = 30});
  stria_link_t* link = world[0].connect(world[1]);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    refused += send(world[0], link, Path::buffered, 1) == Status::no_resource ? 1 : 0;
    world[1].progress();
  }
  EXPECT_NEAR(refused, 600, 150);
}

TEST(Fake, a_killed_device_loses_a_tail_of_what_it_sent_and_its_peers_see_the_end) {
  int whole = 0, partly = 0, none = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    World world({.seed = seed, .delay = 5, .death_seen_by_check_only = seed % 2 == 0});
    stria_link_t* link = world[0].connect(world[1]);
    for (std::uint16_t i = 0; i < 5; ++i) ASSERT_EQ(send(world[0], link, Path::pio, i), Status::ok);
    ASSERT_TRUE(kill(*world.fabric, 1, Loss::random));
    EXPECT_EQ(world[0].progress(), 0u) << "the dead do nothing";
    drive_for({&world[1]}, 40);
    EXPECT_EQ(world[1].downs.size(), seed % 2 == 0 ? 0u : 1u);
    world[1].check();
    ASSERT_EQ(world[1].downs.size(), 1u);
    for (std::size_t i = 0; i < world[1].received.size(); ++i)
      EXPECT_EQ(world[1].received[i].header.sequence, i);
    (world[1].received.size() == 5 ? whole : world[1].received.empty() ? none : partly) += 1;
    EXPECT_EQ(statistics(*world.fabric).in_flight, 0u);
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(partly, 0);
  EXPECT_GT(none, 0);
}

TEST(Fake, a_death_without_loss_delivers_everything_first) {
  World world({.delay = 5});
  stria_link_t* link = world[0].connect(world[1]);
  for (std::uint16_t i = 0; i < 9; ++i) ASSERT_EQ(send(world[0], link, Path::buffered, i), Status::ok);
  ASSERT_TRUE(kill(*world.fabric, 1, Loss::none));
  world[1].check();
  EXPECT_EQ(world[1].received.size(), 9u);
  EXPECT_EQ(world[1].downs.size(), 1u);
}

TEST(Fake, sends_to_the_dead_give_every_answer_until_link_down) {
  bool ok = false, refused = false, failed = false;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    World world({.seed = seed, .death_seen_by_check_only = true});
    stria_link_t* link = world[0].connect(world[1]);
    kill(*world.fabric, 2, Loss::random);
    const Status status = send(world[0], link, Path::pio, 1);
    ok = ok || status == Status::ok;
    refused = refused || status == Status::no_resource;
    failed = failed || status == Status::peer_failed;
  }
  EXPECT_TRUE(ok && refused && failed);
}

TEST(Fake, an_invalidate_overtakes_an_access_under_way_which_then_fails) {
  World world({.delay = 10, .async_percent = 100});
  stria_link_t* link = world[0].connect(world[1]);
  Bytes remote = pattern(1, 100), local(100, std::byte{0});
  stria_provider_key_t key{};
  ASSERT_EQ(world[1].fast_register(contract::contiguous(remote), STRIA_ACCESS_REMOTE_READ, key), Status::ok);
  EXPECT_EQ(valid_keys(*world.fabric, 2), 1u);
  contract::Ending ending;
  ASSERT_EQ(world[0].get(link, contract::contiguous(local), key, 0, ending), Status::in_progress);
  ASSERT_EQ(world[1].invalidate(key), Status::ok);
  EXPECT_EQ(valid_keys(*world.fabric, 2), 0u);
  drive_for({&world[0]}, 20);
  EXPECT_EQ(ending.calls, 1);
  EXPECT_EQ(ending.status, Status::access_error);
  EXPECT_EQ(local, Bytes(100, std::byte{0})) << "nothing was moved";
}

TEST(Fake, an_access_under_way_when_the_peer_dies_ends_before_link_down) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world({.seed = seed, .delay = 10, .async_percent = 100});
    stria_link_t* link = world[0].connect(world[1]);
    Bytes remote = pattern(1, 100), local(100);
    stria_provider_key_t key{};
    ASSERT_EQ(world[1].fast_register(contract::contiguous(remote), STRIA_ACCESS_REMOTE_READ, key),
              Status::ok);
    contract::Ending ending;
    ASSERT_EQ(world[0].get(link, contract::contiguous(local), key, 0, ending), Status::in_progress);
    kill(*world.fabric, 2, Loss::none);
    ASSERT_TRUE(drive({&world[0]}, [&] { return !world[0].downs.empty(); }));
    EXPECT_EQ(ending.calls, 1);
    EXPECT_EQ(ending.status, Status::peer_failed);
  }
}

TEST(Fake, windows_go_to_the_first_links_and_the_others_say_so) {
  World world({.pio_windows = 1}, 3);
  stria_link_t* with = world[0].connect(world[1]);
  stria_link_t* without = world[0].connect(world[2]);
  EXPECT_GT(world[0].limits(with).pio_max, 0u);
  EXPECT_EQ(world[0].limits(without).pio_max, 0u);
  EXPECT_STRNE(world[0].limits(without).fallback, "");
  EXPECT_EQ(send(world[0], without, Path::pio, 1), Status::unsupported);
  EXPECT_EQ(send(world[0], without, Path::buffered, 1), Status::ok);
}

TEST(Fake, devices_of_different_fabrics_do_not_meet) {
  World here({}), there({});
  contract::Contact contact{.worker = 2};
  stria_status_t status = STRIA_OK;
  EXPECT_EQ(here[0].try_connect(there[1].address(), contact, status), nullptr);
  EXPECT_EQ(status, STRIA_ERR_UNREACHABLE);
  EXPECT_NE(here[0].error().find("fabric"), std::string::npos);
}

TEST(Fake, devices_without_a_selected_fabric_share_the_default_one) {
  Peer a(fake_provider(), 1), b(fake_provider(), 2);
  stria_link_t* link = a.connect(b);
  EXPECT_EQ(contract::send({&a, &b}, a, link, Path::buffered, header(1), pattern(1, 20)), Status::ok);
  EXPECT_TRUE(drive({&a, &b}, [&] { return b.received.size() == 1; }));
}

TEST(Fake, devices_of_one_fabric_are_driven_from_different_threads) {
  World world({.delay = 3, .queue = 8, .no_resource_percent = 10}, 4);
  constexpr std::size_t kEach = 300;
  std::vector<std::vector<stria_link_t*>> links(4);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) links[i].push_back(world[i].connect(world[j]));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      std::vector<std::uint16_t> next(4, 0);
      bool sending = true;
      while (sending || world[i].received.size() < 4 * kEach) {
        sending = false;
        for (std::size_t j = 0; j < 4; ++j) {
          if (next[j] == kEach) continue;
          sending = true;
          if (send(world[i], links[i][j], Path::buffered, next[j]) == Status::ok) ++next[j];
        }
        if (world[i].progress(8) == 0) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<std::uint16_t> next(5, 0);
    for (const auto& got : world[i].received) ASSERT_EQ(got.header.sequence, next[got.from->worker]++);
  }
}

// Broken contracts end the process with a message.
class FakeDeathTest : public testing::Test {
 protected:
  FakeDeathTest() : world({}), link(world[0].connect(world[1])) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  World world;
  stria_link_t* link;
};

TEST_F(FakeDeathTest, more_bytes_than_a_limit) {
  const Bytes data(20000);
  EXPECT_DEATH(static_cast<void>(world[0].try_send(link, Path::pio, header(1), data.data(), 257)), "pio_max");
  EXPECT_DEATH(static_cast<void>(world[0].try_send(link, Path::buffered, header(1), data.data(), 16385)),
               "eager_max");
}

TEST_F(FakeDeathTest, a_header_of_kind_zero) {
  EXPECT_DEATH(static_cast<void>(world[0].try_send(link, Path::pio, stria_header_t{}, nullptr, 0)), "kind 0");
}

TEST_F(FakeDeathTest, a_range_beyond_the_stream) {
  const auto layout = datatype::Layout::bytes(8);
  std::byte memory[8]{};
  const stria_payload_t payload{&layout, memory, 1, 1, 8};
  EXPECT_DEATH(static_cast<void>(world[0].try_send(link, header(1), payload)), "beyond the end");
}

TEST_F(FakeDeathTest, a_call_on_a_link_after_its_link_down) {
  world[1].close(2000);
  ASSERT_TRUE(drive({&world[0]}, [&] { return !world[0].downs.empty(); }));
  EXPECT_DEATH(static_cast<void>(send(world[0], link, Path::pio, 1)), "after its link_down");
}

TEST_F(FakeDeathTest, progress_from_inside_progress) {
  ASSERT_EQ(send(world[0], link, Path::pio, 1), Status::ok);
  world[1].on_deliver = [&](const contract::Received&) { world[1].progress(); };
  EXPECT_DEATH(drive_for({&world[1]}, 20), "inside an upcall");
}

TEST_F(FakeDeathTest, two_threads_in_one_device) {
  world[1].on_deliver = [&](const contract::Received&) { std::thread([&] { world[1].check(); }).join(); };
  ASSERT_EQ(send(world[0], link, Path::pio, 1), Status::ok);
  EXPECT_DEATH(drive_for({&world[1]}, 20), "two threads");
}

TEST_F(FakeDeathTest, a_zero_copy_send_of_nothing_or_beyond_its_limit_or_without_a_completion) {
  Bytes data(50000);
  contract::Ending ending, none;
  none.base.done = nullptr;
  for (const std::size_t bytes : {0, 40961})
    EXPECT_DEATH(static_cast<void>(
                     world[0].zcopy_send(link, header(1), contract::contiguous(data.data(), bytes), ending)),
                 "more than zcopy_max");
  EXPECT_DEATH(
      static_cast<void>(world[0].zcopy_send(link, header(1), contract::contiguous(data.data(), 5), none)),
      "no completion");
}

TEST_F(FakeDeathTest, a_place_of_another_length_and_a_call_from_inside_place) {
  Bytes room(100);
  for (std::uint16_t i = 0; i < 10; ++i) ASSERT_EQ(send(world[0], link, Path::buffered, i), Status::ok);
  world[1].places = [&](const stria_header_t&, std::uint32_t bytes, stria_payload_t& place) {
    place = contract::contiguous(room.data(), bytes - 1);
    return true;
  };
  EXPECT_DEATH(drive_for({&world[1]}, 100), "another length");
  world[1].places = [&](const stria_header_t&, std::uint32_t, stria_payload_t&) {
    return send(world[1], world[1].ups.at(1), Path::buffered, 1) == Status::ok;
  };
  EXPECT_DEATH(drive_for({&world[1]}, 100), "inside place");
}

}  // namespace
}  // namespace stria::fake
