// Workers with several devices whose long messages are read by all links of a peer: every byte arrives,
// whatever the speed of a link and the layouts, whichever rail is cut when, and whatever gets are refused.
// Gets complete late, so that operations wait for them; and no key outlives its message.
#include "tests/tag/rails_pair.hpp"

namespace stria::test {
namespace {

class RailsThatRead : public WithRails {};

fake::FabricOptions get_options(std::mt19937& random) {
  fake::FabricOptions options = random_options(random);
  options.async_percent = random() % 4 == 0 ? 0 : random() % 101;
  options.accesses = random() % 2 != 0 ? ~0u : 1 + random() % 4;
  options.offload = random() % 2 != 0;
  options.key_bytes = random() % 2 != 0 ? 16 : 64;
  options.send_invalidate = random() % 4 != 0;
  return options;
}

TEST_F(RailsThatRead, bring_messages_of_all_lengths_and_layouts) {
  std::uint64_t pieces = 0, gets = 0, late = 0, fragments = 0;
  for_seeds(150, [&](unsigned seed, std::mt19937& random) {
    Pair pair(seed, get_options(random), "get");
    for (unsigned i = 2 + random() % 4; i > 0; --i) pair.start_random();
    EXPECT_TRUE(pair.run());
    pair.expect_all_well();
    EXPECT_EQ(pair.keys(), 0u);
    pieces += pair.rail_pieces();
    late += pair.statistics().completed_later;
    for (unsigned rank = 0; rank < 2; ++rank) {
      gets += pair.counters(rank).received_get;
      fragments += pair.counters(rank).received_pipeline;
    }
  });
  EXPECT_GT(pieces, 0u);
  EXPECT_GT(gets, 0u);
  EXPECT_GT(late, 0u);
  EXPECT_EQ(fragments, 0u) << "no get is refused";
}

TEST_F(RailsThatRead, that_are_cut_at_any_moment_take_nothing_with_them) {
  std::uint64_t pieces = 0;
  for_seeds(300, [&](unsigned seed, std::mt19937& random) {
    const fake::FabricOptions options = get_options(random);
    Pair pair(seed, options, "get");
    for (unsigned i = 2 + random() % 3; i > 0; --i) pair.start_random();
    const bool all = random() % 3 == 0;
    for (std::uint32_t device = 1; device < (all ? options.devices : 2); ++device) {
      for (unsigned steps = random() % 400; steps > 0; --steps) pair.step();
      pair.cut(device, random() % 2 != 0 ? fake::Loss::random : fake::Loss::none);
      if (random() % 2 != 0) pair.start_random();
    }
    EXPECT_TRUE(pair.run());
    pair.start_random();
    EXPECT_TRUE(pair.run()) << "with what is left";
    pair.expect_all_well();
    EXPECT_EQ(pair.keys(), 0u);
    pieces += pair.rail_pieces();
  });
  EXPECT_GT(pieces, 0u);
}

TEST_F(RailsThatRead, whose_gets_are_refused_at_any_moment_leave_the_rest_to_fragments) {
  constexpr int kRounds = 300;
  std::uint64_t pieces = 0, fragments = 0, refused = 0;
  for_seeds(kRounds, [&](unsigned seed, std::mt19937& random) {
    const fake::FabricOptions options = get_options(random);
    Pair pair(seed, options, "get");
    std::vector<Message*> messages;
    for (unsigned i = 1 + random() % 3; i > 0; --i) messages.push_back(&pair.start_random());
    for (unsigned steps = random() % (random() % 2 != 0 ? 30 : 300); steps > 0; --steps) pair.step();
    if (random() % 3 == 0) {
      fake::refuse_copies(pair.world().fabric());
    } else {
      // A part of one side's memory, so that some pieces are refused and others are not.
      Message& one = *messages[random() % messages.size()];
      const Bytes& memory = random() % 2 != 0 ? one.source.memory : one.room.memory;
      const std::size_t at = random() % memory.size();
      fake::refuse_memory(pair.world().fabric(), memory.data() + at, 1 + random() % (memory.size() - at));
    }
    if (random() % 4 == 0) pair.cut(1, fake::Loss::random);
    EXPECT_TRUE(pair.run());
    pair.start_random();
    EXPECT_TRUE(pair.run());
    pair.expect_all_well();
    EXPECT_EQ(pair.keys(), 0u);
    pieces += pair.rail_pieces();
    refused += pair.statistics().memory_refused;
    for (unsigned rank = 0; rank < 2; ++rank) fragments += pair.counters(rank).received_pipeline;
  });
  EXPECT_GT(pieces, 0u);
  EXPECT_GT(fragments, 0u);
  // Few rounds may all have been over by then.
  EXPECT_TRUE(refused > 0 || rounds(kRounds) < kRounds);
}

TEST_F(RailsThatRead, leave_the_sender_no_key_to_end) {
  std::uint64_t pieces = 0;
  for_seeds(50, [&](unsigned seed, std::mt19937& random) {
    fake::FabricOptions options = get_options(random);
    options.send_invalidate = true;
    options.connect_delay = options.no_resource_percent = 0;
    options.idle_percent = {};
    options.queue = 64;
    Pair pair(seed, options, "get");
    for (unsigned i = 1 + random() % 3; i > 0; --i) pair.start(1 << 20, 0, 0, pair.below(2));
    EXPECT_TRUE(pair.run());
    pair.expect_all_well();
    EXPECT_EQ(pair.keys(), 0u);
    EXPECT_EQ(pair.statistics().keys_ended_here, 0u) << "each end is a wait";
    pieces += pair.rail_pieces();
  });
  EXPECT_GT(pieces, 0u);
}

// The receive is over, and the send waits for a packet by a rail that is slow, and may die.
TEST_F(RailsThatRead, whose_keys_are_ended_late_let_the_sender_wait_and_not_for_ever) {
  constexpr unsigned kRounds = 200;
  unsigned waited = 0, ended = 0;
  for_seeds(kRounds, [&](unsigned seed, std::mt19937& random) {
    fake::FabricOptions options = get_options(random);
    options.send_invalidate = true;
    options.idle_percent = {};
    options.idle_percent[1] = 95;
    Pair pair(seed, options, "get");
    const unsigned from = pair.below(2);
    Message& one = pair.start(1 << 17, 0, 0, from);
    for (unsigned i = 0; i < 400000 && !one.recv.ended(); ++i) pair.step();
    ASSERT_TRUE(one.recv.ended());
    // The FIN is there behind these.
    for (unsigned steps = 40 + random() % 40; steps > 0; --steps) pair.step();
    const bool waits = !one.send.ended() && pair.rail_pieces() != 0;
    waited += waits ? 1 : 0;
    const unsigned way = random() % 4;
    if (way == 0) pair.cut(1, random() % 2 != 0 ? fake::Loss::random : fake::Loss::none);
    if (way == 1) pair.cut(0, fake::Loss::random);
    if (way == 2) pair.world().kill(1 - from, fake::Loss::random);
    EXPECT_TRUE(pair.run());
    EXPECT_EQ(one.recv.info.status, STRIA_OK);
    if (way == 0 || way == 3) {
      EXPECT_EQ(one.send.info.status, STRIA_OK);
    }
    ended += waits && way < 3 ? 1 : 0;
    EXPECT_EQ(pair.keys(), 0u);
  });
  if (rounds(kRounds) < kRounds) return;
  EXPECT_GT(waited, 0u);
  EXPECT_GT(ended, 0u);
}

TEST_F(RailsThatRead, do_without_keys_when_there_are_few) {
  for_seeds(100, [&](unsigned seed, std::mt19937& random) {
    fake::FabricOptions options = get_options(random);
    options.max_keys = 1 + random() % 3;
    options.contiguous_keys_only = random() % 2 != 0;
    Pair pair(seed, options, "get");
    for (unsigned i = 3 + random() % 4; i > 0; --i) pair.start_random();
    EXPECT_TRUE(pair.run());
    pair.expect_all_well();
    EXPECT_EQ(pair.keys(), 0u);
  });
}

TEST_F(RailsThatRead, do_not_keep_a_peer_alive_whose_main_link_is_cut) {
  unsigned failed = 0;
  for_seeds(200, [&](unsigned seed, std::mt19937& random) {
    Pair pair(seed, get_options(random), "get");
    std::vector<Message*> messages;
    for (unsigned i = 2 + random() % 3; i > 0; --i) messages.push_back(&pair.start_random());
    for (unsigned steps = random() % 300; steps > 0; --steps) pair.step();
    pair.cut(0, fake::Loss::random);
    EXPECT_TRUE(pair.run()) << "everything that names the peer ends";
    EXPECT_EQ(pair.keys(), 0u);
    for (Message* one : messages) failed += one->recv.info.status != STRIA_OK ? 1 : 0;
  });
  EXPECT_GT(failed, 0u);
}

TEST_F(RailsThatRead, leave_memory_alone_when_a_worker_dies_or_closes) {
  for_seeds(200, [&](unsigned seed, std::mt19937& random) {
    Pair pair(seed, get_options(random), "get");
    for (unsigned i = 2 + random() % 3; i > 0; --i) pair.start_random();
    for (unsigned steps = random() % 400; steps > 0; --steps) pair.step();
    if (random() % 2 != 0) {
      pair.world().kill(random() % 2, random() % 2 != 0 ? fake::Loss::random : fake::Loss::none);
      for (unsigned steps = random() % 1000; steps > 0; --steps) pair.step();
    }
  });
}

TEST_F(RailsThatRead, bring_fewer_pieces_when_they_are_slow) {
  std::uint64_t pieces[2] = {};
  for (const unsigned slow : {0u, 1u}) {
    for_seeds(5, [&](unsigned seed, std::mt19937&) {
      fake::FabricOptions options;
      options.devices = 2;
      options.async_percent = 100;
      if (slow != 0) options.idle_percent[1] = 95;
      Pair pair(seed, options, "get");
      for (int i = 0; i < 4; ++i) pair.start(1 << 20);
      EXPECT_TRUE(pair.run());
      pair.expect_all_well();
      pieces[slow] += pair.rail_pieces();
    });
  }
  EXPECT_GT(pieces[1], 0u);
  EXPECT_LT(2 * pieces[1], pieces[0]);
}

TEST_F(RailsThatRead, are_not_used_by_short_messages_nor_where_there_is_one_device) {
  for (const std::uint32_t devices : {1u, 2u}) {
    fake::FabricOptions options;
    options.devices = devices;
    options.async_percent = 50;
    Pair pair(1, options, "get");
    pair.start(devices == 1 ? 200000 : kRails - 1);
    EXPECT_TRUE(pair.run());
    pair.expect_all_well();
    EXPECT_EQ(pair.rail_pieces(), 0u);
    EXPECT_EQ(pair.counters(1).received_get, 1u);
  }
}

TEST_F(RailsThatRead, are_connected_by_the_sender_when_it_alone_has_an_address) {
  expect_rails_from_the_second_message_on("get");
}

}  // namespace
}  // namespace stria::test
