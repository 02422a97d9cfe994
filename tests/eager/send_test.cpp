// The sending side of the eager path, over a link whose provider answers what the test says: credit and
// sequence numbers are spent by what left, and by nothing else.
#include "eager/send.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace stria::eager {
namespace {

class EagerSend : public testing::Test {
 protected:
  EagerSend() {
    provider_ = this;
    ops_.pio_send = [](stria_link_t*, const stria_header_t* header, const void*, std::uint32_t) {
      return provider_->answer(provider_->window_, *header);
    };
    ops_.eager_send = [](stria_link_t*, const stria_header_t* header, const stria_payload_t*) {
      return provider_->answer(provider_->buffers_, *header);
    };
    flow_.link.ops = &ops_;
    flow_.link.pio_below = 65;
    flow_.link.inline_below = 65;
    flow_.link.eager_max = 1u << 20;
    flow_.eager_limit = 1u << 20;
  }
  Status send(std::uint64_t bytes) {
    const transport::Payload payload{nullptr, memory_.data(), static_cast<std::int64_t>(bytes), 0,
                                     static_cast<std::int64_t>(bytes)};
    const Way way = way_of(flow_.link, payload.layout == nullptr, bytes);
    return sender_.send(flow_, wire::make_header(wire::Kind::eager, 7), payload, way);
  }
  bool send_inline(std::uint64_t bytes) {
    stria_send_t send{};
    send.base = memory_.data();
    send.count = bytes;
    return sender_.try_inline(flow_, send, flow_.link.inline_below);
  }

  Flow flow_;
  Sender sender_;
  stria_status_t window_ = STRIA_OK;   // what the provider answers to a store into the window
  stria_status_t buffers_ = STRIA_OK;  // and to a buffered send
  std::vector<stria_header_t> sent_;

 private:
  stria_status_t answer(stria_status_t status, const stria_header_t& header) {
    if (status == STRIA_OK) sent_.push_back(header);
    return status;
  }
  static inline EagerSend* provider_ = nullptr;
  transport::HotOps ops_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(1u << 20);
};

TEST_F(EagerSend, spends_credit_and_numbers_by_what_left) {
  ASSERT_EQ(send(64), Status::ok);
  ASSERT_EQ(send(1000), Status::ok);
  ASSERT_TRUE(send_inline(10));
  EXPECT_EQ(flow_.credit, kFirstGrant - 1074);
  ASSERT_EQ(sent_.size(), 3u);
  for (std::uint16_t i = 0; i < 3; ++i) EXPECT_EQ(sent_[i].sequence, i);
  EXPECT_EQ(sender_.counters().pio, 2u);
  EXPECT_EQ(sender_.counters().buffered, 1u);
}

TEST_F(EagerSend, changes_nothing_where_there_is_no_room) {
  window_ = buffers_ = STRIA_ERR_NO_RESOURCE;
  EXPECT_EQ(send(64), Status::no_resource);
  EXPECT_EQ(send(1000), Status::no_resource);
  EXPECT_FALSE(send_inline(10));
  EXPECT_EQ(flow_.credit, kFirstGrant);
  EXPECT_EQ(flow_.send_sequence, 0u);
  EXPECT_EQ(sender_.counters().pio + sender_.counters().buffered, 0u);
}

TEST_F(EagerSend, goes_buffered_when_the_window_is_full) {
  window_ = STRIA_ERR_NO_RESOURCE;
  ASSERT_EQ(send(64), Status::ok);
  EXPECT_EQ(sender_.counters().buffered, 1u);
}

TEST_F(EagerSend, has_a_long_message_announced_when_no_buffer_is_free) {
  buffers_ = STRIA_ERR_NO_RESOURCE;
  EXPECT_EQ(send(kWaitForRoomMax), Status::no_resource);
  EXPECT_EQ(send(kWaitForRoomMax + 1), Status::unsupported);
}

TEST_F(EagerSend, admits_what_the_limit_and_the_credit_allow) {
  flow_.eager_limit = 1000;
  EXPECT_TRUE(Sender::admits(flow_, 1000));
  EXPECT_FALSE(Sender::admits(flow_, 1001));
  flow_.credit = 10;
  EXPECT_TRUE(Sender::admits(flow_, 10));
  EXPECT_FALSE(Sender::admits(flow_, 11));
  EXPECT_TRUE(send_inline(10));
  EXPECT_FALSE(send_inline(1)) << "the credit is used up";
}

TEST_F(EagerSend, sends_nothing_inline_but_short_plain_contiguous_messages) {
  EXPECT_FALSE(send_inline(65)) << "too long for the window";
  stria_send_t send{};
  send.flags = STRIA_SEND_SYNCHRONOUS;
  EXPECT_FALSE(sender_.try_inline(flow_, send, 65));
  send.flags = STRIA_SEND_IMMEDIATE;
  EXPECT_TRUE(sender_.try_inline(flow_, send, 65));
  EXPECT_FALSE(sender_.try_inline(flow_, send, 0)) << "the link is not up";
}

TEST_F(EagerSend, credit_stays_due_until_there_is_room_for_its_packet) {
  flow_.grant.due = 5000;
  window_ = buffers_ = STRIA_ERR_NO_RESOURCE;
  EXPECT_EQ(Sender::send_credit(flow_), Status::no_resource);
  EXPECT_EQ(flow_.grant.due, 5000u);
  window_ = STRIA_OK;
  EXPECT_EQ(Sender::send_credit(flow_), Status::ok);
  EXPECT_EQ(flow_.grant.due, 0u);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].kind, static_cast<std::uint8_t>(wire::Kind::credit));
  EXPECT_EQ(sent_[0].tag, 5000u);
}

}  // namespace
}  // namespace stria::eager
