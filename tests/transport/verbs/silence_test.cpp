// When a link takes its peer for dead: what it asked has no answer for longer than all repetitions last, and
// somebody looked meanwhile.
#include <deque>

#include "tests/transport/verbs/plain_world.hpp"

namespace stria::verbs::test {
namespace {

class Silence : public PlainWorld {
 protected:
  void SetUp() override { limit = 0; }
  /// The peer's adapter says nothing from here on.
  void be_silent() {
    open();
    progress();
    a_adapter.completions = 0;
    limit = a->device->shared().can.longest_silence_ms;
  }
  /// A look every `step` ms until the link is given up; ms that took, 0 when it never is.
  std::uint64_t gives_up_after(std::uint64_t step) {
    for (std::uint64_t passed = 0; passed < 10 * limit; passed += step, now += step)
      if (!a->link->probe(now)) return passed;
    return 0;
  }
  std::uint64_t limit = 0, now = 1000000;
};

TEST_F(Silence, ends_the_link_when_it_lasts_longer_than_all_repetitions) {
  be_silent();
  const std::uint64_t took = gives_up_after(1000);
  EXPECT_GE(took, limit);
  EXPECT_LE(took, limit + 2000);
}

TEST_F(Silence, is_not_the_time_that_nobody_looked) {
  be_silent();
  ASSERT_TRUE(a->link->probe(now));
  now += 3 * limit;  // stopped by a debugger, or with the whole guest
  EXPECT_TRUE(a->link->probe(now)) << "what came meanwhile has not even been delivered";
  a_adapter.completions = ~0ul;
  progress();
  for (int i = 0; i < 100; ++i, now += limit / 3) {
    EXPECT_TRUE(a->link->probe(now));
    progress();
  }
}

TEST_F(Silence, is_noticed_by_one_who_looks_seldom) {
  be_silent();
  EXPECT_NE(gives_up_after(2 * limit), 0u);
}

TEST_F(Silence, does_not_begin_before_the_request) {
  open({.iwarp = true});  // nothing is asked there of a link that is idle
  progress();
  limit = a->device->shared().can.longest_silence_ms;
  ASSERT_TRUE(a->link->queue().is_idle());
  ASSERT_TRUE(a->link->probe(now));
  now += 3 * limit;
  a_adapter.completions = 0;
  ASSERT_EQ(a->link->pio_send(contract::header(1), nullptr, 0), Status::ok);
  EXPECT_TRUE(a->link->probe(now)) << "it was just posted";
  EXPECT_GE(gives_up_after(1000), limit);
}

/// rxe can go to sleep over its queue; the next doorbell wakes it.
TEST_F(Silence, has_the_doorbell_rung_again_but_not_at_every_look) {
  be_silent();
  ASSERT_TRUE(a->link->probe(now));
  const auto asked = a_queue->in_queue();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(a->link->probe(now));
  EXPECT_EQ(a_queue->in_queue(), asked) << "somebody who looks all the time fills the queue";
  now += limit / 16;
  ASSERT_TRUE(a->link->probe(now));
  EXPECT_EQ(a_queue->in_queue(), asked + 1);
}

TEST_F(Silence, of_a_full_queue_is_waited_for_too) {
  be_silent();
  a_queue->depth = kSendDepth;
  Bytes word(8);
  const transport::Key key = key_of_blocks();
  std::deque<Ending> endings(2 * kSendDepth);
  for (auto& ending : endings)
    if (a->link->get(contract::contiguous(word), key, 0, &ending.base) != Status::in_progress) break;
  EXPECT_GE(gives_up_after(1000), limit);
  EXPECT_FALSE(a_adapter.overflowed);
}

}  // namespace
}  // namespace stria::verbs::test
