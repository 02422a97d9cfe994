// Workers with several devices: long messages go by all links of a peer, whatever their speed and layout, and
// arrive whole whichever rail is cut when. The fabric draws its choices from the seed, and the two ends of a
// cut link hear of that at moments of their own.
#include <chrono>
#include <thread>

#include "tests/tag/rails_pair.hpp"

namespace stria::test {
namespace {

class RailsOfWorkers : public WithRails {};

TEST_F(RailsOfWorkers, bring_messages_of_all_lengths_and_layouts) {
  std::uint64_t pieces = 0, placed = 0, zcopy_sends = 0;
  for_seeds(150, [&](unsigned seed, std::mt19937& random) {
    Pair pair(seed, random_options(random));
    for (unsigned i = 2 + random() % 4; i > 0; --i) pair.start_random();
    EXPECT_TRUE(pair.run());
    pair.expect_all_well();
    pieces += pair.rail_pieces();
    placed += pair.statistics().placed;
    zcopy_sends += pair.statistics().zcopy_sends;
  });
  EXPECT_GT(pieces, 0u);
  EXPECT_GT(placed, 0u);
  EXPECT_GT(zcopy_sends, 0u);
}

TEST_F(RailsOfWorkers, that_are_cut_at_any_moment_take_nothing_with_them) {
  std::uint64_t pieces = 0;
  for_seeds(400, [&](unsigned seed, std::mt19937& random) {
    const fake::FabricOptions options = random_options(random);
    Pair pair(seed, options);
    for (unsigned i = 2 + random() % 3; i > 0; --i) pair.start_random();
    const bool all = random() % 3 == 0;
    for (std::uint32_t device = 1; device < (all ? options.devices : 2); ++device) {
      for (unsigned steps = random() % 500; steps > 0; --steps) pair.step();
      pair.cut(device, random() % 2 != 0 ? fake::Loss::random : fake::Loss::none);
      if (random() % 2 != 0) pair.start_random();
    }
    EXPECT_TRUE(pair.run());
    pair.start_random();
    EXPECT_TRUE(pair.run()) << "with what is left";
    pair.expect_all_well();
    pieces += pair.rail_pieces();
  });
  EXPECT_GT(pieces, 0u);
}

TEST_F(RailsOfWorkers, do_not_keep_a_peer_alive_whose_main_link_is_cut) {
  unsigned failed = 0;
  for_seeds(200, [&](unsigned seed, std::mt19937& random) {
    Pair pair(seed, random_options(random));
    std::vector<Message*> messages;
    for (unsigned i = 2 + random() % 3; i > 0; --i) messages.push_back(&pair.start_random());
    for (unsigned steps = random() % 300; steps > 0; --steps) pair.step();
    pair.cut(0, fake::Loss::random);
    EXPECT_TRUE(pair.run()) << "everything that names the peer ends";
    for (Message* one : messages) failed += one->recv.info.status != STRIA_OK ? 1 : 0;
  });
  EXPECT_GT(failed, 0u);
}

TEST_F(RailsOfWorkers, leave_memory_alone_when_a_worker_dies_or_closes) {
  for_seeds(200, [&](unsigned seed, std::mt19937& random) {
    Pair pair(seed, random_options(random));
    for (unsigned i = 2 + random() % 3; i > 0; --i) pair.start_random();
    for (unsigned steps = random() % 500; steps > 0; --steps) pair.step();
    if (random() % 2 != 0) {
      pair.world().kill(random() % 2, random() % 2 != 0 ? fake::Loss::random : fake::Loss::none);
      for (unsigned steps = random() % 1000; steps > 0; --steps) pair.step();
    }
  });
}

TEST_F(RailsOfWorkers, bring_fewer_pieces_when_they_are_slow) {
  std::uint64_t pieces[2] = {};
  for (const unsigned slow : {0u, 1u}) {
    for_seeds(5, [&](unsigned seed, std::mt19937&) {
      fake::FabricOptions options;
      options.devices = 2;
      if (slow != 0) options.idle_percent[1] = 95;
      Pair pair(seed, options);
      for (int i = 0; i < 4; ++i) pair.start(1 << 20);
      EXPECT_TRUE(pair.run());
      pair.expect_all_well();
      pieces[slow] += pair.rail_pieces();
    });
  }
  EXPECT_GT(pieces[1], 0u);
  EXPECT_LT(2 * pieces[1], pieces[0]);
}

TEST_F(RailsOfWorkers, are_not_used_by_short_messages_nor_where_there_is_one_device) {
  for (const std::uint32_t devices : {1u, 2u}) {
    fake::FabricOptions options;
    options.devices = devices;
    Pair pair(1, options);
    pair.start(devices == 1 ? 200000 : kRails - 1);
    EXPECT_TRUE(pair.run());
    pair.expect_all_well();
    EXPECT_EQ(pair.rail_pieces(), 0u);
  }
}

TEST_F(RailsOfWorkers, are_connected_by_the_sender_when_it_alone_has_an_address) {
  expect_rails_from_the_second_message_on("pipeline");
}

// The receiver waits for a rail. A check for dead links, which arming makes, finds the rail dead, and now the
// main link is to be asked: a worker that slept would ask it a whole interval later.
TEST_F(RailsOfWorkers, whose_death_is_seen_while_a_worker_arms_keep_it_awake) {
  ASSERT_EQ(stria_config_set("STRIA_LIVENESS_MS", "10", "test"), STRIA_OK);
  fake::FabricOptions options;
  options.devices = 2;
  options.delay = 0;
  options.idle_percent[1] = 99;
  options.death_seen_by_check_only = true;
  Pair pair(1, options);
  Message& one = pair.start(200000);
  stria_worker_t* const receiver = pair.world().worker(1);
  for (int i = 0; i < 100; ++i) pair.step();
  for (int i = 0; i < 100000 && stria_worker_arm(receiver) != STRIA_OK; ++i) pair.step();
  ASSERT_FALSE(one.recv.ended()) << "it waits for the slow rail";
  fake::cut_link(pair.world().fabric(), stria_worker_id(receiver), stria_worker_id(pair.world().worker(0)), 1,
                 fake::Loss::none);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(stria_worker_arm(receiver), STRIA_ERR_NO_RESOURCE);
  EXPECT_TRUE(pair.run());
  pair.expect_all_well();
  EXPECT_EQ(stria_config_set("STRIA_LIVENESS_MS", "500", "test"), STRIA_OK);
}

}  // namespace
}  // namespace stria::test
