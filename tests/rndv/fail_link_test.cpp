// The end of a link ends its operations, each once, in a number of steps that is linear in the number of
// operations: steps are counted, not timed.
#include <gtest/gtest.h>

#include <deque>
#include <functional>

#include "rndv/atomics.hpp"
#include "rndv/engine.hpp"

namespace stria::rndv {
namespace {

constexpr std::uint64_t kStepsEach = 4;  // a table has at most twice as many slots as operations
constexpr std::uint64_t kLength = 100000;

/// Whatever is sent goes nowhere, and a get finds no room: the operations stay as they began.
transport::HotOps operations() {
  transport::HotOps ops;
  ops.eager_send = [](auto...) { return STRIA_OK; };
  ops.fast_register = [](auto...) { return STRIA_ERR_UNSUPPORTED; };
  ops.invalidate = [](auto...) { return STRIA_OK; };
  ops.send_invalidate = [](auto...) { return STRIA_OK; };
  ops.get = [](auto...) { return STRIA_ERR_NO_RESOURCE; };
  return ops;
}

class FailLink : public ::testing::TestWithParam<unsigned> {
 protected:
  FailLink()
      : engine_({Force::get}, {this, [](void* self, SendOp& op) { static_cast<FailLink*>(self)->ended(op); },
                               [](void* self, RecvOp& op) { static_cast<FailLink*>(self)->ended(op); }}) {
    for (transport::LinkRef& link : links_) {
      link.ops = &ops_;
      link.eager_max = 4096;
      link.can_get = true;
    }
  }
  ~FailLink() override {
    for (transport::LinkRef& link : links_) engine_.fail_link(link, Status::cancelled);
    EXPECT_TRUE(engine_.idle());
  }
  void ended(Operation& op) {
    EXPECT_EQ(op.outcome, expected_);
    EXPECT_EQ(op.link, failing_);
    ++ends_;
    if (on_end_) on_end_();
  }
  template <class Op>
  Op& prepare(std::deque<Op>& ops, unsigned link) {
    Op& op = ops.emplace_back();
    op.link = &links_[link];
    op.memory = transport::LinkRef::contiguous_payload(memory_.data(), static_cast<std::int64_t>(kLength));
    op.length = kLength;
    return op;
  }
  void announce(unsigned link) {
    EXPECT_EQ(engine_.announce(prepare(sends_, link), wire::make_header(wire::Kind::rts, 1)), Status::ok);
  }
  /// With a key it reads, and is tried by progress; else it waits for fragments under a name.
  void receive(unsigned link, bool reads) {
    Announcement announced;
    announced.length = kLength;
    announced.sender_op = 99;
    announced.key.bytes = reads ? 8 : 0;
    engine_.accept(prepare(receives_, link), announced);
  }
  std::uint64_t fail(unsigned link) {
    failing_ = &links_[link];
    return engine_.fail_link(links_[link], expected_);
  }

  transport::HotOps ops_ = operations();
  transport::LinkRef links_[2];
  Engine engine_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(kLength);
  std::deque<SendOp> sends_;
  std::deque<RecvOp> receives_;
  const transport::LinkRef* failing_ = nullptr;
  Status expected_ = Status::peer_failed;
  unsigned ends_ = 0;
  std::function<void()> on_end_;
};

TEST_P(FailLink, takes_steps_linear_in_the_number_of_operations) {
  for (unsigned i = 0; i < GetParam(); ++i)
    for (unsigned link : {0u, 1u}) {
      announce(link);
      receive(link, true);
      receive(link, false);
    }
  engine_.progress();
  const unsigned of_a_link = 3 * GetParam();
  EXPECT_LE(fail(0), kStepsEach * 2 * of_a_link);
  EXPECT_EQ(ends_, of_a_link);
  expected_ = Status::unreachable;
  EXPECT_LE(fail(1), kStepsEach * 2 * of_a_link);
  EXPECT_EQ(ends_, 2 * of_a_link);
}

TEST_P(FailLink, goes_on_while_its_events_start_operations_of_other_links) {
  for (unsigned i = 0; i < GetParam(); ++i) {
    announce(0);
    receive(0, i % 2 == 0);
  }
  on_end_ = [this] {
    announce(1);
    receive(1, ends_ % 2 == 0);
  };
  const std::uint64_t steps = fail(0);
  on_end_ = nullptr;
  EXPECT_EQ(ends_, 2 * GetParam());
  EXPECT_LE(steps, kStepsEach * 2 * GetParam());
  EXPECT_FALSE(engine_.idle());
  failing_ = &links_[1], expected_ = Status::cancelled;  // the rest ends with the test
}

// An event of progress ends the link, while others of it were not advanced in this round yet.
TEST_P(FailLink, ends_what_a_round_of_progress_has_not_reached) {
  for (unsigned i = 0; i < GetParam(); ++i) receive(0, true);
  bool failed = false;
  on_end_ = [&] {
    if (std::exchange(failed, true)) return;
    expected_ = Status::peer_failed;
    fail(0);
    EXPECT_EQ(ends_, GetParam());
  };
  ops_.get = [](auto...) { return STRIA_ERR_IO; };
  failing_ = &links_[0], expected_ = Status::io_error;
  engine_.progress();
  EXPECT_EQ(ends_, GetParam());
}

class FailAtomics : public ::testing::TestWithParam<unsigned> {};

TEST_P(FailAtomics, takes_steps_linear_in_the_number_of_atomics) {
  transport::HotOps ops = operations();
  transport::LinkRef links[2];
  for (transport::LinkRef& link : links) link.ops = &ops, link.eager_max = 4096;
  unsigned ends = 0;
  Atomics atomics({&ends, [](void* count, AtomicOp&, Status outcome) {
                     EXPECT_EQ(outcome, Status::peer_failed);
                     ++*static_cast<unsigned*>(count);
                   }});
  std::deque<AtomicOp> asked;
  for (unsigned i = 0; i < 2 * GetParam(); ++i) {
    AtomicOp& op = asked.emplace_back();
    op.link = &links[i % 2];
    ASSERT_EQ(atomics.try_ask(op), Status::in_progress);
  }
  ops.eager_send = [](auto...) { return STRIA_ERR_NO_RESOURCE; };
  for (unsigned i = 0; i < 2 * GetParam(); ++i)
    ASSERT_EQ(atomics.answer(links[i % 2], i + 1, Status::ok, 0), Status::no_resource);
  for (unsigned link : {0u, 1u}) {
    EXPECT_LE(atomics.fail_link(links[link], Status::peer_failed), kStepsEach * 4 * GetParam());
    EXPECT_EQ(ends, (link + 1) * GetParam());
  }
  EXPECT_TRUE(atomics.idle());
}

const auto kSizes = testing::Values(64u, 1000u, 4000u);
INSTANTIATE_TEST_SUITE_P(Sizes, FailLink, kSizes);
INSTANTIATE_TEST_SUITE_P(Sizes, FailAtomics, kSizes);

}  // namespace
}  // namespace stria::rndv
