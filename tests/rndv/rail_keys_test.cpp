// A sender whose receiver asks for keys by rails: each is the rail's own, none outlives its message or its
// rail, and requests that a confused or hostile peer may send make none.
#include "tests/rndv/rail_gets_rig.hpp"

namespace stria::rndv {
namespace {

class RailKeysTest : public RailGetsRig {
 protected:
  static constexpr wire::OpId kReceiverOp = 0x900000003;
  wire::OpId announce() {
    SendOp& op = prepare(sends_, source_);
    EXPECT_EQ(engine_.announce(op, wire::make_header(wire::Kind::rts, 1)), Status::ok);
    sent_.clear();
    return op.id;
  }
  bool ask(wire::OpId op, unsigned link, wire::OpId receiver = kReceiverOp,
           std::size_t bytes = sizeof(wire::AskKeyBody)) {
    const wire::AskKeyBody body[2] = {{receiver}, {0}};
    return deliver(wire::make_header(wire::Kind::ask_key, op), body, bytes, link);
  }
  void end(wire::OpId op, Status status = Status::ok) {
    deliver(wire::make_header(wire::Kind::fin, op, static_cast<std::uint32_t>(static_cast<int>(status))),
            nullptr, 0, 0);
  }
  bool ask_for_fragments(wire::OpId op, std::uint8_t piece) {
    const wire::RtrBody body{kReceiverOp, 0, kLength, 4096, 0, piece, {}};
    return deliver(wire::make_header(wire::Kind::rtr, op), &body, sizeof body, 0);
  }
};

TEST_F(RailKeysTest, are_made_for_their_rail_and_end_with_the_message) {
  for (const Status outcome : {Status::ok, Status::io_error}) {
    const wire::OpId op = announce();
    EXPECT_EQ(keys_.size(), 1u);
    for (const unsigned link : {2u, 1u}) {
      EXPECT_TRUE(ask(op, link));
      EXPECT_EQ(keys_of(link), 1u);
      const auto answers = take_sent(wire::Kind::rail_key);
      ASSERT_EQ(answers.size(), 1u);
      EXPECT_EQ(answers[0].link, link);
      EXPECT_EQ(answers[0].header.tag, kReceiverOp);
      ASSERT_EQ(answers[0].payload.size(), key_bytes_);
      std::uint32_t number = 0;
      std::memcpy(&number, answers[0].payload.data(), sizeof number);
      EXPECT_EQ(keys_.at(number), link);
    }
    end(op, outcome);
    EXPECT_EQ(outcome_, outcome);
    EXPECT_TRUE(keys_.empty());
    EXPECT_TRUE(ask(op, 1)) << "it is over: dropped";
    EXPECT_TRUE(keys_.empty());
    EXPECT_TRUE(sent_.empty());
  }
}

TEST_F(RailKeysTest, that_cannot_be_made_are_answered_by_none) {
  const wire::OpId op = announce();
  peers_[1].key_answer = STRIA_ERR_UNSUPPORTED;
  EXPECT_TRUE(ask(op, 1));
  key_bytes_ = 64;
  links_[2].eager_max = 63;
  EXPECT_TRUE(ask(op, 2));
  const auto answers = take_sent(wire::Kind::rail_key);
  ASSERT_EQ(answers.size(), 2u);
  for (const Sent& one : answers) EXPECT_TRUE(one.payload.empty());
  EXPECT_EQ(keys_.size(), 1u) << "the announced one";
}

TEST_F(RailKeysTest, end_when_the_rail_or_the_peer_dies) {
  const wire::OpId op = announce();
  EXPECT_TRUE(ask(op, 1) && ask(op, 2));
  engine_.fail_rail(links_[0], links_[1]);
  EXPECT_EQ(keys_of(1), 0u);
  EXPECT_EQ(keys_of(2), 1u);
  EXPECT_EQ(keys_of(0), 1u);
  engine_.fail_link(links_[0], Status::peer_failed);
  EXPECT_EQ(ends_, 1u);
  EXPECT_TRUE(keys_.empty());
}

TEST_F(RailKeysTest, end_when_the_receiver_asks_for_fragments_instead) {
  for (const std::uint8_t piece : {std::uint8_t{0}, std::uint8_t{1}}) {
    const wire::OpId op = announce();
    EXPECT_TRUE(ask(op, 1));
    EXPECT_TRUE(ask_for_fragments(op, piece));
    EXPECT_EQ(keys_of(1), 0u);
    EXPECT_TRUE(ask(op, 2)) << "overtaken by the other request: dropped";
    EXPECT_EQ(keys_of(2), 0u);
    for (int i = 0; i < 100; ++i) engine_.progress();
    end(op);
  }
  EXPECT_EQ(ends_, 2u);
}

TEST_F(RailKeysTest, whose_answer_finds_no_room_wait_and_end_with_the_message_all_the_same) {
  for (const bool finds_room : {true, false}) {
    const wire::OpId op = announce();
    peers_[1].is_full = true;
    EXPECT_TRUE(ask(op, 1));
    EXPECT_FALSE(ask(op, 1)) << "a second time";
    EXPECT_FALSE(engine_.resting());
    rounds();
    EXPECT_TRUE(take_sent(wire::Kind::rail_key).empty());
    peers_[1].is_full = !finds_room;
    rounds();
    EXPECT_EQ(take_sent(wire::Kind::rail_key).size(), finds_room ? 1u : 0u);
    EXPECT_EQ(engine_.resting(), finds_room);
    if (!finds_room) engine_.fail_rail(links_[0], links_[1]);
    rounds();
    EXPECT_TRUE(engine_.resting());
    end(op);
    EXPECT_TRUE(keys_.empty());
    EXPECT_TRUE(engine_.idle());
  }
}

TEST_F(RailKeysTest, due_ones_leave_nothing_to_do_when_fragments_are_asked_for) {
  const wire::OpId op = announce();
  peers_[1].is_full = true;
  EXPECT_TRUE(ask(op, 1));
  EXPECT_TRUE(ask_for_fragments(op, 1));
  for (int i = 0; i < 100; ++i) engine_.progress();
  EXPECT_TRUE(engine_.resting());
  end(op);
}

TEST_F(RailKeysTest, are_not_ended_once_their_device_is_closed) {
  const wire::OpId op = announce();
  peers_[1].is_full = true;
  EXPECT_TRUE(ask(op, 1));
  keys_.clear();
  is_closed_ = true;
  engine_.end_all(Status::cancelled);
  EXPECT_EQ(ends_, 1u);
}

TEST_F(RailKeysTest, are_not_made_for_requests_that_make_no_sense) {
  const wire::OpId op = announce();
  EXPECT_FALSE(ask(op, 0)) << "by the main link, which has one";
  EXPECT_FALSE(ask(op, 1, kReceiverOp, 0));
  EXPECT_FALSE(ask(op, 1, kReceiverOp, sizeof(wire::AskKeyBody) - 1));
  EXPECT_FALSE(ask(op, 1, kReceiverOp, sizeof(wire::AskKeyBody) + 1));
  EXPECT_TRUE(ask(op + 1, 1)) << "of no operation: dropped";
  EXPECT_EQ(keys_.size(), 1u);
  EXPECT_TRUE(sent_.empty());
  EXPECT_TRUE(ask(op, 1));
  EXPECT_FALSE(ask(op, 1)) << "twice";
  EXPECT_FALSE(ask(op, 2, kReceiverOp + 1)) << "by another receiver";
  EXPECT_EQ(keys_.size(), 2u);
  EXPECT_EQ(sent_.size(), 1u);
  EXPECT_EQ(ends_, 0u);
  end(op);
  EXPECT_EQ(outcome_, Status::ok);
}

TEST_F(RailKeysTest, are_not_made_for_a_message_without_an_announced_key_nor_for_another_peers) {
  peers_[0].key_answer = STRIA_ERR_UNSUPPORTED;
  const wire::OpId op = announce();
  EXPECT_FALSE(ask(op, 1));
  peers_[0].key_answer = STRIA_OK;
  const wire::OpId other = announce();
  const wire::AskKeyBody body{kReceiverOp};
  const auto header = wire::make_header(wire::Kind::ask_key, other);
  EXPECT_TRUE(engine_.on_ask_key(links_[2], {&header, &body, sizeof body, 1, 0}, &links_[1])) << "dropped";
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(keys_.size(), 1u);
}

}  // namespace
}  // namespace stria::rndv
