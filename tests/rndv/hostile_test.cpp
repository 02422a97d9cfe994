// The engine against a confused or hostile peer: stale and invented names, bad ranges, packets of the wrong
// length and on the wrong link. Nothing but the operation's own memory may be written, and every operation
// ends exactly once.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/rndv/hostile_rig.hpp"

namespace stria::rndv {
namespace {

TEST_F(Hostile, an_announcement_of_the_wrong_length_is_refused) {
  std::byte bytes[sizeof(wire::RtsBody) + 256] = {};
  const auto header = wire::make_header(wire::Kind::rts, 1);
  Announcement out;
  for (std::uint32_t length = 0; length < sizeof(wire::RtsBody); ++length)
    EXPECT_FALSE(Engine::parse_announcement({&header, bytes, length, 0, 0}, out)) << length;
  EXPECT_TRUE(Engine::parse_announcement({&header, bytes, sizeof(wire::RtsBody), 0, 0}, out));
  EXPECT_FALSE(Engine::parse_announcement({&header, bytes, sizeof(wire::RtsBody) + 1, 0, 0}, out));
  for (unsigned key = 0; key < 256; ++key) {
    wire::RtsBody rts{1, 2, 3, static_cast<std::uint8_t>(key), 0, 0, 0};
    std::memcpy(bytes, &rts, sizeof(rts));
    const bool fits = key <= sizeof(out.key.data);
    EXPECT_EQ(Engine::parse_announcement(
                  {&header, bytes, static_cast<std::uint32_t>(sizeof(rts)) + key, 0, 0}, out),
              fits);
  }
}

TEST_F(Hostile, a_receiver_may_not_ask_for_bytes_outside_the_message) {
  const struct {
    std::uint64_t offset, length;
  } kBad[] = {{0, kLength + 1}, {kLength + 1, 0}, {1, kLength}, {~0ull, 2}, {2, ~0ull}, {~0ull, ~0ull}};
  for (const auto& bad : kBad) {
    SendOp op;
    const wire::OpId id = announce(op);
    const int before = sent_ends_;
    EXPECT_FALSE(rtr(0, id, {7, bad.offset, bad.length, kFragment, 0, 0, {}}));
    EXPECT_EQ(sent_ends_, before + 1) << bad.offset << "+" << bad.length;
    EXPECT_EQ(op.outcome, Status::invalid);
    for (const Sent& sent : wires_[0].sent) EXPECT_NE(sent.header.kind, static_cast<int>(wire::Kind::frag));
    EXPECT_TRUE(rtr(0, id, {7, 0, kLength, kFragment, 0, 0, {}})) << "its name is stale now";
    EXPECT_EQ(sent_ends_, before + 1);
  }
  EXPECT_TRUE(engine_.idle());
}

TEST_F(Hostile, a_short_request_and_one_on_another_link_are_dropped) {
  SendOp op;
  const wire::OpId id = announce(op);
  const wire::RtrBody body{7, 0, kLength, kFragment, 0, 0, {}};
  const auto header = wire::make_header(wire::Kind::rtr, id);
  for (std::uint32_t bytes = 0; bytes < sizeof(body); ++bytes)
    EXPECT_FALSE(engine_.on_rtr(links_[0], {&header, &body, bytes, 1, 0}));
  EXPECT_TRUE(rtr(1, id, body)) << "it may be late";
  EXPECT_EQ(sent_ends_, 0);
  EXPECT_EQ(op.state, Operation::State::waiting);
  rtr(0, id, body);
  EXPECT_EQ(sent_ends_, 1);
  EXPECT_EQ(op.outcome, Status::ok);
}

TEST_F(Hostile, a_second_request_for_the_same_message_is_dropped) {
  SendOp op;
  const wire::OpId id = announce(op);
  wires_[0].answer = STRIA_ERR_NO_RESOURCE;
  rtr(0, id, {7, 0, kLength, kFragment, 0, 0, {}});
  rtr(0, id, {8, 0, 10, 1, 0, 0, {}});
  fin(0, id, 0);  // too early as well
  EXPECT_EQ(sent_ends_, 0);
  wires_[0].answer = STRIA_OK;
  wires_[0].sent.clear();
  while (sent_ends_ == 0) ASSERT_GT(engine_.progress(), 0u);
  ASSERT_EQ(wires_[0].sent.size(), 3u);
  for (const Sent& sent : wires_[0].sent) EXPECT_EQ(sent.header.tag, 7u) << "the first request stands";
}

TEST_F(Hostile, names_of_the_other_kind_find_nothing) {
  SendOp send;
  RecvOp recv;
  const wire::OpId send_id = announce(send);
  const wire::OpId recv_id = accept(recv);
  frag(0, send_id, 0, kFragment);
  rtr(0, recv_id, {7, 0, kLength, kFragment, 0, 0, {}});
  EXPECT_EQ(sent_ends_ + received_ends_, 0);
  engine_.fail_link(links_[0], Status::peer_failed);
}

TEST_F(Hostile, an_end_with_an_unknown_status_is_an_error_and_comes_once) {
  for (const int status : {1, 5, -10, -128, 0x7fffffff}) {
    SendOp op;
    const wire::OpId id = announce(op);
    const int before = sent_ends_;
    fin(1, id, 0);
    EXPECT_EQ(sent_ends_, before) << "the end came from another peer";
    fin(0, id, status);
    fin(0, id, 0);
    EXPECT_EQ(sent_ends_, before + 1);
    EXPECT_EQ(op.outcome, Status::invalid) << status;
  }
}

TEST_F(Hostile, a_receive_is_not_ended_by_a_peer_that_claims_success_without_data) {
  RecvOp op;
  const wire::OpId id = accept(op);
  fin(0, id, 0);
  EXPECT_EQ(received_ends_, 0);
  fin(0, id, STRIA_ERR_ACCESS);
  EXPECT_EQ(received_ends_, 1);
  EXPECT_EQ(op.outcome, Status::access_error);
}

TEST_F(Hostile, a_failed_link_ends_its_operations_once_and_leaves_the_others) {
  SendOp sends[5];
  RecvOp recvs[5], other;
  for (SendOp& op : sends) announce(op);
  wires_[0].answer = STRIA_ERR_NO_RESOURCE;  // these wait in the active list, without a request sent
  for (RecvOp& op : recvs) {
    op.link = &links_[0];
    op.memory = memory();
    op.length = kLength;
    Announcement announced;
    announced.length = kLength;
    engine_.accept(op, announced);
  }
  other.link = &links_[1];
  other.memory = memory();
  other.length = kLength;
  Announcement announced;
  announced.length = kLength;
  engine_.accept(other, announced);
  engine_.fail_link(links_[0], Status::peer_failed);
  EXPECT_EQ(sent_ends_, 5);
  EXPECT_EQ(received_ends_, 5);
  for (const SendOp& op : sends) EXPECT_EQ(op.outcome, Status::peer_failed);
  EXPECT_FALSE(engine_.idle());
  engine_.fail_link(links_[1], Status::cancelled);
  EXPECT_EQ(received_ends_, 6);
  EXPECT_TRUE(engine_.idle());
  EXPECT_TRUE(engine_.resting());
}

TEST_F(Hostile, a_request_for_remote_memory_with_a_bad_fragment_size_is_answered_with_an_error) {
  engine_.serve_get(links_[0], 1, {0, kLength, 77, 0, 0}, memory(), Status::ok);
  ASSERT_EQ(wires_[0].sent.size(), 1u);
  EXPECT_EQ(wires_[0].sent[0].header.kind, static_cast<int>(wire::Kind::fin));
  EXPECT_EQ(wires_[0].sent[0].header.tag, 77u);
  EXPECT_LT(static_cast<std::int32_t>(wires_[0].sent[0].header.immediate), 0);
  EXPECT_TRUE(engine_.idle());
}

TEST_F(Hostile, random_packets_write_nothing_outside_and_end_nothing_twice) {
  const unsigned seed = 31337;
  std::mt19937_64 random(seed);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  for (int round = 0; round < 300; ++round) {
    sent_ends_ = received_ends_ = 0;
    SendOp send;
    RecvOp recv;
    const wire::OpId names[] = {announce(send), accept(recv), random(), 0};
    for (int step = 0; step < 100; ++step) {
      const wire::OpId name = names[random() % 4];
      const unsigned link = random() % 8 == 0 ? 1 : 0;
      wires_[0].answer = random() % 3 == 0 ? STRIA_ERR_NO_RESOURCE : STRIA_OK;
      switch (random() % 4) {
        case 0:
          frag(link, name, random() % 5 * (kFragment / 2), static_cast<std::uint32_t>(random() % 2000));
          break;
        case 1:
          rtr(link, name,
              {random() % 4,
               random() % 4000,
               random() % 4000,
               static_cast<std::uint32_t>(random() % 5000),
               0,
               static_cast<std::uint8_t>(random() % 8 == 0),
               {}});
          break;
        case 2:
          fin(link, name, static_cast<int>(random() % 13) - 10);
          break;
        default:
          engine_.progress();
          break;
      }
      ASSERT_LE(sent_ends_, 1);
      ASSERT_LE(received_ends_, 1);
    }
    ASSERT_TRUE(guards_untouched());
    wires_[0].answer = STRIA_OK;
    engine_.fail_link(links_[0], Status::peer_failed);
    EXPECT_EQ(sent_ends_, 1);
    EXPECT_EQ(received_ends_, 1);
    ASSERT_TRUE(engine_.idle());
    wires_[0].sent.clear();
  }
}

}  // namespace
}  // namespace stria::rndv
