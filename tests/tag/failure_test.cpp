// Peers that die: every request that names one ends with an error, whatever it was doing; everything else
// goes on.
#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

fake::FabricOptions plain(std::uint64_t seed) {
  fake::FabricOptions options;
  options.seed = seed;
  options.delay = 3;
  return options;
}

TEST(Failure, ends_receives_that_name_the_peer_and_keeps_those_from_any_source) {
  Op warm_up, warm_recv, named, any;
  char byte = 1, room[8];
  World world(3, plain(1));
  world.send(warm_up, 1, 0, 7, &byte, 1);
  world.recv(warm_recv, 0, 1, 7, 0, room, 8);
  ASSERT_TRUE(world.run_until([&] { return warm_recv.ended(); }));
  world.recv(named, 0, 1, 8, 0, room, 8);
  world.recv(any, 0, World::kAny, 9, 0, room, 8);
  world.kill(1, fake::Loss::none);
  ASSERT_TRUE(world.run_until([&] { return named.ended(); }));
  EXPECT_EQ(named.info.status, STRIA_ERR_PEER_FAILED);
  EXPECT_FALSE(any.ended());
  Op send;
  world.send(send, 2, 0, 9, &byte, 1);
  ASSERT_TRUE(world.run_until([&] { return any.ended(); }));
  EXPECT_EQ(any.info.status, STRIA_OK);
  Op late;
  EXPECT_EQ(world.recv(late, 0, 1, 8, 0, room, 8), STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(world.send(late, 0, 1, 8, &byte, 1), STRIA_ERR_PEER_FAILED);
}

TEST(Failure, of_a_peer_without_a_link_is_noticed_by_the_receives_that_name_it) {
  Op named, any;
  char room[8];
  World world(3, plain(2), {{"STRIA_LIVENESS_MS", "1"}});
  world.recv(any, 0, World::kAny, 9, 0, room, 8);
  ASSERT_EQ(world.recv(named, 0, 1, 8, 0, room, 8), STRIA_IN_PROGRESS);
  world.kill(1, fake::Loss::none);
  ASSERT_TRUE(world.run_until([&] { return named.ended(); }));
  EXPECT_EQ(named.info.status, STRIA_ERR_PEER_FAILED);
  EXPECT_FALSE(any.ended());
  Op living, sending;
  char byte = 1;
  world.recv(living, 0, 2, 8, 0, room, 8);
  world.send(sending, 2, 0, 8, &byte, 1);
  ASSERT_TRUE(world.run_until([&] { return living.ended(); })) << "the other peer is no worse for it";
  EXPECT_EQ(living.info.status, STRIA_OK);
}

TEST(Failure, is_noticed_in_time_by_calls_that_take_long) {
  constexpr unsigned kCalls = 400;  // more than the calls from one reading of the clock to the next
  fake::FabricOptions options = plain(2);
  options.death_seen_by_check_only = true;
  World world(2, options, {{"STRIA_LIVENESS_MS", "1"}});
  Op warm_up, warm_recv, named;
  char byte = 1, room[8];
  world.send(warm_up, 1, 0, 7, &byte, 1);
  world.recv(warm_recv, 0, 1, 7, 0, room, 8);
  ASSERT_TRUE(world.run_until([&] { return warm_recv.ended(); }));
  world.recv(named, 0, 1, 8, 0, room, 8);
  for (int i = 0; i < 100000; ++i)
    stria_worker_progress(world.worker(0));  // of a program that polls, for comparison
  world.kill(1, fake::Loss::none);
  for (unsigned i = 0; i < kCalls && !named.ended(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stria_worker_progress(world.worker(0));
  }
  EXPECT_TRUE(named.ended());
}

// Looking for one receive after the other takes minutes.
TEST(Failure, ends_a_hundred_thousand_receives_in_time) {
  constexpr unsigned kMany = 100000;
  std::vector<Op> named(kMany), kept(100);
  char byte = 1, room[8];
  World world(3, plain(3));
  Op warm_up, warm_recv;
  world.send(warm_up, 1, 0, 7, &byte, 1);
  world.recv(warm_recv, 0, 1, 7, 0, room, 8);
  ASSERT_TRUE(world.run_until([&] { return warm_recv.ended(); }));
  for (unsigned i = 0; i < kMany; ++i) {
    if (i % 1000 == 0) world.recv(kept[i / 1000], 0, World::kAny, 100 + i, 0, room, 8);
    world.recv(named[i], 0, 1, 100 + i, i % 2 == 0 ? 0 : 1, room, 8);
  }
  const auto start = std::chrono::steady_clock::now();
  world.kill(1, fake::Loss::none);
  ASSERT_TRUE(world.run_until([&] { return counters(world, 0).posted_receives == kept.size(); }));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  for (const Op& op : named) {
    ASSERT_EQ(op.callbacks, 1);
    ASSERT_EQ(op.info.status, STRIA_ERR_PEER_FAILED);
  }
  for (Op& op : kept) ASSERT_FALSE(op.ended());
}

// The receives of a dead peer end one after the other, and what a callback does to one of them is too late.
TEST(Failure, a_callback_may_cancel_and_post_while_receives_end) {
  struct Chain {
    World* world = nullptr;
    Op* other = nullptr;
    Op* again = nullptr;
    stria_status_t cancelled = STRIA_OK, posted = STRIA_OK;
    char room[8] = {};
    static void ended(stria_request_t*, const stria_info_t*, void* user) {
      auto* chain = static_cast<Chain*>(user);
      chain->cancelled = stria_request_cancel(chain->world->worker(0), &chain->other->request);
      chain->posted = chain->world->recv(*chain->again, 0, World::kAny, 9, 0, chain->room, 8);
    }
  };
  Op warm_up, warm_recv, first, second, posted_again[2];
  char byte = 1, room[8];
  Chain chains[2];
  World world(2, plain(4));
  world.send(warm_up, 1, 0, 7, &byte, 1);
  world.recv(warm_recv, 0, 1, 7, 0, room, 8);
  ASSERT_TRUE(world.run_until([&] { return warm_recv.ended(); }));
  Op* const ops[2] = {&first, &second};
  for (unsigned i = 0; i < 2; ++i) {
    chains[i].world = &world;
    chains[i].other = ops[1 - i];
    chains[i].again = &posted_again[i];
    stria_recv_t recv{};
    recv.base = room;
    recv.count = 8;
    recv.match = {world.endpoint(0, 1), 8 + i, 0};
    recv.callback = &Chain::ended;
    recv.user = &chains[i];
    ASSERT_EQ(stria_recv(world.worker(0), &recv, &ops[i]->request), STRIA_IN_PROGRESS);
  }
  world.kill(1, fake::Loss::none);
  ASSERT_TRUE(world.run_until([&] { return chains[1].posted != STRIA_OK && chains[0].posted != STRIA_OK; }));
  EXPECT_EQ(counters(world, 0).posted_receives, 2u);
  for (const Chain& chain : chains) {
    EXPECT_NE(chain.cancelled, STRIA_OK);
    EXPECT_EQ(chain.posted, STRIA_IN_PROGRESS);
  }
}

TEST(Failure, delivers_what_arrived_before_the_death) {
  World world(2, plain(2));
  Op sent, got;
  char data[100], room[100];
  std::memset(data, 5, sizeof(data));
  world.send(sent, 1, 0, 1, data, sizeof(data));
  for (int i = 0; i < 50; ++i) world.step();
  world.kill(1, fake::Loss::none);
  for (int i = 0; i < 5000; ++i) world.step();
  world.recv(got, 0, 1, 1, 0, room, sizeof(room));
  ASSERT_TRUE(got.ended());
  EXPECT_EQ(got.info.status, STRIA_OK);
  EXPECT_EQ(std::memcmp(data, room, sizeof(data)), 0);
}

// Announcements whose data died with their sender.
class Announced : public testing::Test {
 protected:
  Announced() : world_(3, plain(7)), data_(100000, 3), room_(100000) {
    world_.send(eager_, 1, 0, 5, data_.data(), 100);
    world_.send(large_, 1, 0, 5, data_.data(), data_.size());
    EXPECT_TRUE(world_.run_until([&] { return waiting() == 2; }));
  }
  std::uint64_t waiting() {
    stria_counters_t counters{};
    counters.size = sizeof(counters);
    EXPECT_EQ(stria_worker_counters(world_.worker(0), &counters), STRIA_OK);
    return counters.unexpected_messages;
  }
  void kill() {
    world_.kill(1, fake::Loss::none);
    for (int i = 0; i < 2000; ++i) world_.step();
  }
  Op eager_, large_, first_, second_;
  World world_;
  std::vector<char> data_, room_;
};

TEST_F(Announced, of_a_dead_peer_take_no_receive_from_any_source) {
  kill();
  EXPECT_EQ(waiting(), 1u);
  EXPECT_EQ(world_.recv(first_, 0, World::kAny, 5, 0, room_.data(), room_.size()), STRIA_OK);
  EXPECT_EQ(first_.info.status, STRIA_OK);
  EXPECT_EQ(first_.info.length, 100u) << "what came whole can be received";
  EXPECT_EQ(world_.recv(second_, 0, World::kAny, 5, 0, room_.data(), room_.size()), STRIA_IN_PROGRESS);
  Op send;
  world_.send(send, 2, 0, 5, data_.data(), 10);
  ASSERT_TRUE(world_.run_until([&] { return second_.ended(); }));
  EXPECT_EQ(second_.info.status, STRIA_OK);
  EXPECT_EQ(second_.info.length, 10u);
}

TEST_F(Announced, and_taken_by_a_matched_probe_end_their_receive_with_peer_failed) {
  stria_match_t match{world_.endpoint(0, 1), 5, 0};
  stria_message_t* message = nullptr;
  world_.recv(first_, 0, 1, 5, 0, room_.data(), room_.size());
  ASSERT_EQ(stria_mprobe(world_.worker(0), &match, &message, nullptr), STRIA_OK);
  kill();
  stria_recv_t recv{};
  recv.base = room_.data();
  recv.count = room_.size();
  stria_request_t request;
  ASSERT_EQ(stria_mrecv(world_.worker(0), message, &recv, &request), STRIA_OK);
  stria_info_t info{};
  EXPECT_EQ(stria_request_test(&request, &info), STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(info.status, STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(waiting(), 0u);
}

// A death at every moment of a stream of eager and rendezvous messages in both directions.
TEST(Failure, ends_every_request_whenever_the_peer_dies) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    fake::FabricOptions options = plain(seed);
    options.get = random() % 2 != 0;
    options.async_percent = random() % 2 != 0 ? 60 : 0;
    options.no_resource_percent = random() % 2 != 0 ? 30 : 0;
    options.death_seen_by_check_only = random() % 2 != 0;
    options.keeps = random() % 2 != 0;
    options.eager_max = 512;
    share_memory(options, random);
    constexpr unsigned kOps = 12;  // requests and buffers outlive the workers: closing one ends what is left
    std::vector<Op> sends(kOps), recvs(kOps), peer_sends(kOps), peer_recvs(kOps);
    std::vector<std::vector<char>> out(kOps), in(kOps), peer_in(kOps);
    World world(2, options, {{{"STRIA_EAGER_LIMIT", "512"}}, {{"STRIA_LIVENESS_MS", "1"}}});
    for (unsigned i = 0; i < kOps; ++i) {
      const std::size_t bytes = random() % 2 != 0 ? random() % 512 : 512 + random() % 4000;
      out[i].assign(bytes, static_cast<char>(i));
      in[i].resize(5000);
      peer_in[i].resize(5000);
      ASSERT_GE(world.send(sends[i], 0, 1, i, out[i].data(), bytes), 0);
      if (random() % 2 != 0) {
        ASSERT_GE(world.recv(recvs[i], 0, 1, i, 0, in[i].data(), 5000), 0);
      }
      ASSERT_GE(world.send(peer_sends[i], 1, 0, i, out[i].data(), bytes), 0);
      if (random() % 2 != 0) {
        ASSERT_GE(world.recv(peer_recvs[i], 1, 0, i, 0, peer_in[i].data(), 5000), 0);
      }
      for (std::uint64_t n = random() % 3; n > 0; --n) world.step();
    }
    for (std::uint64_t n = random() % 60; n > 0; --n) world.step();
    world.kill(1, random() % 2 != 0 ? fake::Loss::random : fake::Loss::none);
    const bool ended = world.run_until(
        [&] {
          for (unsigned i = 0; i < kOps; ++i) {
            if (!sends[i].ended()) return false;
            if (recvs[i].answer != STRIA_ERR_INVALID && !recvs[i].ended()) return false;
          }
          return true;
        },
        2000000);
    ASSERT_TRUE(ended) << "a request that names the dead peer never ended";
    for (unsigned i = 0; i < kOps; ++i) {
      if (recvs[i].answer == STRIA_ERR_INVALID || recvs[i].info.status != STRIA_OK) continue;
      ASSERT_EQ(recvs[i].info.length, out[i].size());
      ASSERT_TRUE(std::equal(out[i].begin(), out[i].end(), in[i].begin()));
    }
    ASSERT_EQ(fake::valid_keys(world.fabric(), stria_worker_id(world.worker(0))), 0u);
  }
}

TEST(Failure, closing_a_worker_cancels_what_waits) {
  Op recv;
  World world(2, plain(5));
  char room[8];
  world.recv(recv, 0, World::kAny, 1, 0, room, 8);
  world.close(0);
  EXPECT_EQ(recv.callbacks, 1);
  EXPECT_EQ(recv.info.status, STRIA_ERR_CANCELLED);
}

}  // namespace
}  // namespace stria::test
