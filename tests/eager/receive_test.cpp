// The receiving side of the eager path: what is taken out of a window is counted like what is delivered, and
// a buffer counts as long as it is kept.
#include "eager/receive.hpp"

#include <gtest/gtest.h>

namespace stria::eager {
namespace {

constexpr std::uint64_t kBudget = 1u << 20;

class EagerReceive : public testing::Test {
 protected:
  EagerReceive() : receiver_(kBudget) {
    provider_ = this;
    ops_.take = [](stria_link_t*, stria_header_t* header, void*, std::uint32_t most) -> std::int32_t {
      ++provider_->looks_;
      provider_->asked_ = *header;
      provider_->most_ = most;
      return provider_->looks_ > provider_->in_vain_ ? provider_->there_ : STRIA_TAKE_NOTHING;
    };
    flow_.link.ops = &ops_;
    receiver_.peer_joined(flow_);
  }
  std::int32_t take(std::uint64_t room, bool waits) {
    transport::Header header = wire::make_header(wire::Kind::eager, 7);
    return receiver_.take_from_window(flow_, header, nullptr, room, [&] { return waits; });
  }

  Receiver receiver_;
  Flow flow_;
  std::int32_t there_ = 0;  // what a look finds
  unsigned in_vain_ = 0;    // so many looks find nothing
  unsigned looks_ = 0;
  std::uint32_t most_ = 0;
  stria_header_t asked_{};

 private:
  static inline EagerReceive* provider_ = nullptr;
  transport::HotOps ops_;
};

TEST_F(EagerReceive, counts_a_message_that_it_takes_as_one_that_came) {
  there_ = 100;
  flow_.recv_sequence = 5;
  EXPECT_EQ(take(1000, false), 100);
  EXPECT_EQ(asked_.sequence, 5u);
  EXPECT_EQ(most_, 1000u);
  EXPECT_EQ(flow_.recv_sequence, 6u);
  EXPECT_EQ(flow_.grant.outstanding, kFirstGrant - 100);
}

TEST_F(EagerReceive, asks_for_no_more_than_was_granted) {
  there_ = STRIA_TAKE_OTHER;
  EXPECT_EQ(take(kFirstGrant + 1, false), STRIA_TAKE_OTHER);
  EXPECT_EQ(most_, kFirstGrant);
}

TEST_F(EagerReceive, changes_nothing_when_it_takes_nothing) {
  for (const std::int32_t answer : {STRIA_TAKE_NOTHING, STRIA_TAKE_OTHER}) {
    there_ = answer;
    EXPECT_EQ(take(1000, false), answer);
  }
  EXPECT_EQ(looks_, 2u);
  EXPECT_EQ(flow_.recv_sequence, 0u);
  EXPECT_EQ(flow_.grant.outstanding, kFirstGrant);
}

TEST_F(EagerReceive, looks_several_times_for_a_receive_that_waits_and_not_for_ever) {
  there_ = 8;
  in_vain_ = 3;
  EXPECT_EQ(take(8, true), 8);
  EXPECT_EQ(looks_, 4u);
  in_vain_ = ~0u;
  EXPECT_EQ(take(8, true), STRIA_TAKE_NOTHING);
}

TEST_F(EagerReceive, counts_a_buffer_until_it_is_free_again) {
  ASSERT_TRUE(receiver_.arrived(flow_, 5000));
  std::byte* const buffer = receiver_.buffer_for(5000);
  ASSERT_NE(buffer, nullptr);
  receiver_.kept_in_buffer(flow_, 5000);
  EXPECT_EQ(flow_.grant.held, BufferPool::footprint(5000));
  EXPECT_EQ(receiver_.in_use(), BufferPool::footprint(5000));
  receiver_.free_buffer(flow_, buffer, 5000);
  EXPECT_EQ(flow_.grant.held, 0u);
  EXPECT_EQ(receiver_.in_use(), 0u);
  EXPECT_EQ(receiver_.in_use_max(), BufferPool::footprint(5000));
  // A payload that stays where it arrived takes no memory here.
  ASSERT_TRUE(receiver_.arrived(flow_, 5000));
  receiver_.kept_elsewhere(flow_, 5000);
  EXPECT_EQ(flow_.grant.held, 0u);
}

}  // namespace
}  // namespace stria::eager
