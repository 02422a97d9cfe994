// Long messages that are divided among several links of a peer: every byte arrives, whichever link dies when,
// and a slow link gets fewer pieces. Hostile requests for pieces are at the end.
#include "tests/rndv/rails_rig.hpp"
#include "tests/rounds.hpp"

namespace stria::rndv {
namespace {

unsigned first_seed() {
  return static_cast<unsigned>(test::from_environment("STRIA_TEST_SEED", 0));
}

/// Calls f(seed) for `count` seeds, or for the one that STRIA_TEST_SEED names.
template <class F>
void for_seeds(unsigned count, const F& f) {
  const unsigned only = first_seed();
  for (unsigned seed = only != 0 ? only : 1;
       seed <= (only != 0 ? only : test::rounds(count)) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "STRIA_TEST_SEED=" << seed);
    f(seed);
  }
}

RigOptions random_options(std::mt19937& random) {
  RigOptions options;
  options.links = 2 + random() % 3;
  for (unsigned& speed : options.speed) speed = 1 + random() % 8;
  options.queue = 1 + random() % 6;
  options.refused_percent = random() % 50;
  options.placed_percent = random() % 101;
  options.zcopy_percent = random() % 101;
  options.fragment = 1024u << random() % 4;
  options.piece = 4096u << random() % 4;
  return options;
}

/// A length near a multiple of the piece, or any.
std::size_t random_length(std::mt19937& random, const RigOptions& options) {
  const std::size_t pieces = 1 + random() % 20;
  const std::size_t near = pieces * static_cast<std::size_t>(options.piece) + random() % 3 - 1;
  return random() % 2 != 0 ? near : 1 + random() % 300000;
}

TEST(Rails, bring_every_byte_in_any_order_of_events) {
  std::uint64_t by_rails = 0, zcopy_sends = 0, placed = 0;
  for_seeds(300, [&](unsigned seed) {
    std::mt19937 random(seed);
    const RigOptions options = random_options(random);
    Rig rig(seed, options);
    std::deque<Rig::Message*> messages;
    for (unsigned i = 1 + random() % 4; i > 0; --i) {
      const std::size_t bytes = random_length(random, options);
      messages.push_back(&rig.start(bytes, random() % 4 == 0 ? 1 + random() % bytes : bytes));
    }
    EXPECT_TRUE(rig.run());
    for (const Rig::Message* one : messages) {
      EXPECT_EQ(one->sent, Status::ok);
      EXPECT_EQ(one->received, Status::ok);
      EXPECT_EQ(one->ends, 2u);
    }
    by_rails += rig.engine(Rig::kReceiver).counters().by_rails;
    zcopy_sends += rig.zcopy_sends;
    placed += rig.placed;
  });
  EXPECT_GT(by_rails, 0u);
  EXPECT_GT(zcopy_sends, 0u);
  EXPECT_GT(placed, 0u);
}

TEST(Rails, that_die_at_any_moment_take_nothing_with_them_while_the_main_link_lives) {
  for_seeds(500, [&](unsigned seed) {
    std::mt19937 random(seed);
    const RigOptions options = random_options(random);
    Rig rig(seed, options);
    std::deque<Rig::Message*> messages;
    for (unsigned i = 1 + random() % 3; i > 0; --i) {
      const std::size_t bytes = random_length(random, options);
      messages.push_back(&rig.start(bytes, bytes));
    }
    const unsigned last = random() % 3 == 0 ? options.links - 1 : 1;  // all rails, or one
    for (unsigned dies = 1; dies <= last; ++dies) {
      for (unsigned steps = random() % 600; steps > 0; --steps) rig.step();
      rig.cut(dies);
      const unsigned first = random() % 2;
      for (unsigned steps = random() % 200; steps > 0; --steps) rig.step();
      rig.hear(first, dies);
      for (unsigned steps = random() % 200; steps > 0; --steps) rig.step();
      rig.hear(1 - first, dies);
    }
    EXPECT_TRUE(rig.run());
    for (const Rig::Message* one : messages) {
      EXPECT_EQ(one->sent, Status::ok);
      EXPECT_EQ(one->received, Status::ok);
      EXPECT_EQ(one->ends, 2u);
    }
  });
}

TEST(Rails, do_not_keep_a_peer_alive_whose_main_link_is_dead) {
  for_seeds(300, [&](unsigned seed) {
    std::mt19937 random(seed);
    const RigOptions options = random_options(random);
    Rig rig(seed, options);
    Rig::Message& one = rig.start(200000, 200000);
    for (unsigned steps = random() % 600; steps > 0; --steps) rig.step();
    rig.cut(0);
    const unsigned first = random() % 2;
    rig.hear(first, 0);
    for (unsigned steps = random() % 200; steps > 0; --steps) rig.step();
    rig.hear(1 - first, 0);
    if (random() % 2 != 0) {
      for (unsigned i = 1; i < options.links; ++i) rig.cut(i);
      rig.hear_all();
    }
    // What is placed or read by the rails ends with them, or when it is whole.
    for (unsigned steps = 0; steps < 20000 && !(one.sent && (one.received || !one.is_known)); ++steps)
      rig.step();
    EXPECT_TRUE(one.sent);
    EXPECT_TRUE(one.received || !one.is_known);
  });
}

TEST(Rails, that_are_slow_get_fewer_pieces) {
  std::array<std::uint64_t, 3> pieces{};
  for_seeds(20, [&](unsigned seed) {
    RigOptions options;
    options.links = 3;
    options.speed = {8, 4, 1};
    options.piece = 8192;
    Rig rig(seed, options);
    rig.start(1 << 20, 1 << 20);
    EXPECT_TRUE(rig.run());
    for (unsigned i = 0; i < options.links; ++i) pieces[i] += rig.requests(i);
  });
  EXPECT_GT(pieces[0], pieces[1]);
  EXPECT_GT(pieces[1], 2 * pieces[2]);
  EXPECT_GT(pieces[2], 0u);
}

TEST(Rails, are_left_alone_by_short_messages) {
  RigOptions options;
  Rig rig(1, options);
  rig.start(2 * options.piece - 1, 2 * options.piece - 1);
  EXPECT_TRUE(rig.run());
  EXPECT_EQ(rig.requests(0), 1u) << "for all of it";
  EXPECT_EQ(rig.requests(1) + rig.requests(2), 0u);
}

TEST(Rails, close_with_pieces_under_way) {
  for_seeds(300, [&](unsigned seed) {
    std::mt19937 random(seed);
    Rig rig(seed, random_options(random));
    rig.start(200000, 200000);
    rig.start(100000, 50000);
    for (unsigned steps = random() % 800; steps > 0; --steps) rig.step();
  });
}

}  // namespace
}  // namespace stria::rndv
