// What a link promises of its send queue: what was not posted did not happen, nothing is posted that it has
// no room for, and whoever waits for room goes on.
#include <algorithm>
#include <deque>

#include "tests/transport/verbs/plain_world.hpp"

namespace stria::verbs::test {
namespace {

using SendQueue = PlainWorld;

TEST_F(SendQueue, a_read_that_was_never_posted_ends_with_an_error) {
  open();
  const transport::Key key = key_of_blocks();
  Bytes into(kBlock);
  Ending ending;
  a_queue->refuses = true;
  ASSERT_EQ(a->link->get(contract::contiguous(into), key, 0, &ending.base), Status::in_progress);
  EXPECT_TRUE(a->link->dying);
  a_queue->refuses = false;  // what asks for the end of all that is under way gets through
  break_off(*a->link, *a_queue);
  EXPECT_EQ(ended(ending), Status::peer_failed) << "nothing was read";
}

TEST_F(SendQueue, an_atomic_that_was_never_posted_ends_with_an_error) {
  open();
  Bytes words(64);  // aligned as malloc does
  const transport::Key key = key_of(contract::contiguous(words), STRIA_ACCESS_REMOTE_ATOMIC);
  std::uint64_t result = 77;
  transport::Atomic add{};
  add.op = STRIA_ATOMIC_FETCH_ADD;
  add.operand = 1;
  add.result = &result;
  Ending ending;
  a_queue->refuses = true;
  ASSERT_EQ(a->link->atomic(add, key, &ending.base), Status::in_progress);
  a_queue->refuses = false;
  break_off(*a->link, *a_queue);
  EXPECT_EQ(ended(ending), Status::peer_failed);
  EXPECT_EQ(result, 77u) << "nobody said what the word was";
}

/// A read looks for room for its second request, and so hears that another read may go on, which takes it.
TEST_F(SendQueue, a_read_does_not_use_room_that_another_took_meanwhile) {
  open();
  const transport::Key key = key_of_blocks();
  a_queue->depth = kSendDepth;
  a_adapter.completions = 0;
  Bytes word(8), first_into(kAll), second_into(kAll);
  std::deque<Ending> short_ones(2 * kSendDepth);
  std::size_t next = 0;
  const auto read_word = [&] {
    return a->link->get(contract::contiguous(word), key, 0, &short_ones[next++].base);
  };
  const auto before = static_cast<unsigned>(a_queue->in_queue());
  for (unsigned i = before; i < kSendDepth - 2; ++i) ASSERT_EQ(read_word(), Status::in_progress);
  Ending first, second;
  ASSERT_EQ(a->link->get(contract::contiguous(first_into), key, 0, &first.base), Status::in_progress);
  ASSERT_EQ(a_queue->in_queue(), kSendDepth) << "two requests of forty";
  a_adapter.completions = kSendDepth - 2 - before;
  for (unsigned i = 0; i < kSendDepth - 3; ++i) ASSERT_EQ(read_word(), Status::in_progress);
  ASSERT_EQ(a_queue->in_queue(), kSendDepth - 1);
  a_adapter.completions = 1;  // the first read's two
  ASSERT_EQ(a->link->get(contract::contiguous(second_into), key, 0, &second.base), Status::in_progress);
  EXPECT_FALSE(a_adapter.overflowed);
  EXPECT_FALSE(a->link->dying);
  a_adapter.completions = ~0ul;
  EXPECT_EQ(ended(first), Status::ok);
  EXPECT_EQ(ended(second), Status::ok);
  EXPECT_TRUE(first_into == second_into);
}

/// Where binds wait for all that is under way, and moves for the bind: that may leave with any packet.
class BindsThatWait : public PlainWorld {
 protected:
  void SetUp() override {
    open({.repeats_binds = true});
    const transport::Key key = key_of_blocks();
    a_adapter.completions = 0;
    ASSERT_EQ(a->link->get(contract::contiguous(into), key, 0, &ending.base), Status::in_progress);
    transport::Key mine{};
    ASSERT_EQ(a->device->fast_register(a->link, contract::contiguous(own), STRIA_ACCESS_REMOTE_READ, mine),
              Status::ok);
    ASSERT_EQ(a->link->pio_send(contract::header(2), nullptr, 0), Status::no_resource);
    a_adapter.posted.clear();
  }
  bool was_bound() const {
    return std::any_of(a_adapter.posted.begin(), a_adapter.posted.end(),
                       [](const Posted& one) { return one.opcode == IBV_WR_BIND_MW; });
  }
  Bytes into = Bytes(kAll), own = Bytes(100000);
  Ending ending;
};

TEST_F(BindsThatWait, a_read_goes_on_when_the_bind_left_with_credits) {
  for (std::uint16_t i = 0; i < 20; ++i)
    ASSERT_EQ(b->link->pio_send(contract::header(i), nullptr, 0), Status::ok);
  a_adapter.completions = ~0ul;
  progress();
  ASSERT_TRUE(was_bound());
  EXPECT_EQ(a->link->pio_send(contract::header(3), nullptr, 0), Status::ok);
  EXPECT_EQ(ended(ending), Status::ok);
}

TEST_F(BindsThatWait, a_read_goes_on_when_the_bind_left_with_the_question_whether_the_peer_lives) {
  a_adapter.completions = ~0ul;
  a->device->check();
  ASSERT_TRUE(was_bound());
  EXPECT_EQ(a->link->pio_send(contract::header(3), nullptr, 0), Status::ok);
  EXPECT_EQ(ended(ending), Status::ok);
}

TEST_F(SendQueue, each_long_request_is_seen_to_end) {
  constexpr std::uint32_t kLong = 1u << 20;
  open({.max_message = kLong});
  Bytes source = contract::pattern(4, std::size_t{5} * kLong), into(source.size());
  const transport::Key key = key_of(contract::contiguous(source));
  a_adapter.posted.clear();
  Ending ending;
  ASSERT_EQ(a->link->get(contract::contiguous(into), key, 0, &ending.base), Status::in_progress);
  EXPECT_EQ(ended(ending), Status::ok);
  EXPECT_TRUE(into == source);
  unsigned reads = 0;
  for (const Posted& one : a_adapter.posted) {
    if (one.opcode != IBV_WR_RDMA_READ) continue;
    ++reads;
    EXPECT_NE(one.flags & IBV_SEND_SIGNALED, 0u) << "a slow network looks like a dead peer";
  }
  EXPECT_EQ(reads, 5u);
}

TEST_F(SendQueue, of_short_requests_at_one_doorbell_the_last_is_seen_to_end) {
  open();
  const transport::Key key = key_of_blocks();
  a_adapter.posted.clear();
  Bytes into(4 * kBlock);
  Ending ending;
  ASSERT_EQ(a->link->get(contract::contiguous(into), key, 0, &ending.base), Status::in_progress);
  ASSERT_EQ(a_adapter.posted.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ((a_adapter.posted[i].flags & IBV_SEND_SIGNALED) != 0, i == 3) << i;
  EXPECT_EQ(ended(ending), Status::ok);
}

}  // namespace
}  // namespace stria::verbs::test
