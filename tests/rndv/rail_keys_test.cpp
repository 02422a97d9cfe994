// A sender whose receiver asks for keys by rails: each is the rail's own, none outlives its message or its
// rail, and requests that a confused or hostile peer may send make none. The receiver ends keys by packets,
// in any order with its FIN, and the send waits for those alone that the FIN names.
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
  /// The receiver's number for the rail of link 1 is 0, and so on.
  bool ask(wire::OpId op, unsigned link, wire::OpId receiver = kReceiverOp,
           std::size_t bytes = sizeof(wire::AskKeyBody)) {
    const wire::AskKeyBody body[2] = {{receiver}, {0}};
    return deliver(wire::make_ask_key(op, static_cast<std::uint8_t>(link - 1)), body, bytes, link);
  }
  void end(wire::OpId op, Status status = Status::ok, std::uint8_t rails = 0) {
    auto fin = wire::make_header(wire::Kind::fin, op, static_cast<std::uint32_t>(static_cast<int>(status)));
    fin.flags = rails;
    deliver(fin, nullptr, 0, 0);
  }
  bool end_key(wire::OpId op, unsigned link, std::size_t bytes = 0) {
    return deliver(wire::make_header(wire::Kind::end_key, op), "x", bytes, link);
  }
  /// As the provider does before it delivers a packet of the link that ends them.
  void keys_die(unsigned link) {
    std::erase_if(keys_, [=](const auto& one) { return one.second == link; });
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

TEST_F(RailKeysTest, end_by_packets_that_come_in_any_order_with_the_fin) {
  std::array<unsigned, kLinks> order = {0, 1, 2};  // the link of the packet; 0: the FIN
  do {
    SCOPED_TRACE(testing::Message() << order[0] << order[1] << order[2]);
    ends_ = 0;
    const wire::OpId op = announce();
    EXPECT_TRUE(ask(op, 1) && ask(op, 2));
    for (const unsigned link : order) {
      EXPECT_EQ(ends_, 0u) << "a key lives";
      keys_die(link);
      if (link == 0)
        end(op, Status::ok, 3);
      else
        EXPECT_TRUE(end_key(op, link));
      rounds();
      EXPECT_EQ(keys_.empty(), link == order[2]);
    }
    EXPECT_EQ(ends_, 1u);
    EXPECT_EQ(outcome_, Status::ok);
    EXPECT_TRUE(engine_.idle());
    EXPECT_TRUE(end_key(op, 1)) << "it is over: dropped";
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(keys_ended_here_, 0u);
}

TEST_F(RailKeysTest, of_which_the_fin_says_nothing_end_with_it) {
  for (const std::uint8_t rails : {0, 1, 2, 3}) {
    ends_ = keys_ended_here_ = 0;
    const wire::OpId op = announce();
    EXPECT_TRUE(ask(op, 1) && ask(op, 2));
    keys_die(0);
    end(op, Status::truncated, rails);
    EXPECT_EQ(keys_of(1), rails & 1);
    EXPECT_EQ(keys_of(2), rails >> 1 & 1);
    EXPECT_EQ(keys_ended_here_ + keys_.size(), 2u);
    EXPECT_EQ(ends_, rails == 0 ? 1u : 0u);
    for (const unsigned link : {2u, 1u}) {
      const bool is_awaited = (rails >> (link - 1) & 1) != 0;
      keys_die(link);
      EXPECT_EQ(end_key(op, link), is_awaited || ends_ != 0) << "only one that lives is ended";
    }
    EXPECT_EQ(ends_, 1u);
    EXPECT_EQ(outcome_, Status::truncated);
  }
}

TEST_F(RailKeysTest, end_before_the_message_although_the_receiver_did_not_end_them) {
  const wire::OpId op = announce();
  EXPECT_TRUE(ask(op, 1) && ask(op, 2));
  EXPECT_TRUE(end_key(op, 1));
  EXPECT_EQ(keys_of(1), 0u) << "its packet came without invalidate";
  end(op, Status::ok, 3);
  EXPECT_EQ(keys_of(0), 0u);
  EXPECT_EQ(ends_, 0u);
  EXPECT_TRUE(end_key(op, 2));
  EXPECT_EQ(ends_, 1u);
  EXPECT_TRUE(keys_.empty());
}

TEST_F(RailKeysTest, are_not_waited_for_when_their_rail_dies) {
  // The rail of link 1 dies: before its packet and the FIN, between FIN and packet, or behind its packet.
  for (const int when : {0, 1, 2}) {
    SCOPED_TRACE(when);
    ends_ = 0;
    const wire::OpId op = announce();
    EXPECT_TRUE(ask(op, 1) && ask(op, 2));
    if (when == 0) engine_.fail_rail(links_[0], links_[1]);
    if (when == 2) {
      EXPECT_TRUE(end_key(op, 1));
    }
    if (when == 2) engine_.fail_rail(links_[0], links_[1]);
    end(op, Status::ok, 3);
    EXPECT_EQ(ends_, 0u);
    if (when == 1) engine_.fail_rail(links_[0], links_[1]);
    EXPECT_EQ(keys_of(1), 0u);
    EXPECT_EQ(keys_of(2), 1u);
    EXPECT_EQ(ends_, 0u) << "the other rail's key lives";
    engine_.fail_rail(links_[0], links_[2]);
    EXPECT_EQ(ends_, 1u);
    EXPECT_EQ(outcome_, Status::ok) << "the receiver has it all";
    EXPECT_TRUE(keys_.empty());
  }
}

TEST_F(RailKeysTest, of_several_messages_end_with_the_rail_that_they_wait_for) {
  for (int i = 0; i < 3; ++i) {
    const wire::OpId op = announce();
    EXPECT_TRUE(ask(op, 1));
    end(op, Status::ok, 1);
  }
  EXPECT_EQ(ends_, 0u);
  EXPECT_EQ(keys_.size(), 3u);
  engine_.fail_rail(links_[0], links_[1]);
  EXPECT_EQ(ends_, 3u);
  EXPECT_TRUE(engine_.idle());
}

TEST_F(RailKeysTest, are_not_waited_for_when_the_peer_dies) {
  for (const bool is_half_ended : {false, true}) {
    ends_ = 0;
    const wire::OpId op = announce();
    EXPECT_TRUE(ask(op, 1) && ask(op, 2));
    end(op, Status::ok, 3);
    if (is_half_ended) {
      EXPECT_TRUE(end_key(op, 1));
    }
    EXPECT_EQ(ends_, 0u);
    EXPECT_TRUE(engine_.resting()) << "it has nothing to do";
    EXPECT_FALSE(engine_.idle());
    engine_.fail_link(links_[0], Status::peer_failed);
    EXPECT_EQ(ends_, 1u);
    EXPECT_EQ(outcome_, Status::ok) << "the receiver has it all";
    EXPECT_TRUE(keys_.empty());
  }
}

TEST_F(RailKeysTest, and_zero_copy_sends_are_both_waited_for) {
  static std::vector<stria_completion_t*> sends;
  ops_.zcopy_send = [](stria_link_t*, const stria_header_t*, const stria_payload_t*,
                       stria_completion_t* completion) {
    sends.push_back(completion);
    return STRIA_IN_PROGRESS;
  };
  links_[0].zcopy_log2 = 16;
  // No such receiver is one of ours: it is sent a part, and asks for a key then.
  for (const char* const how : {"key, sends", "sends, key", "rail, sends", "peer, sends"}) {
    SCOPED_TRACE(how);
    ends_ = 0;
    sends.clear();
    const wire::OpId op = announce();
    struct {
      wire::RtrBody rtr;
      std::uint8_t key[16];
    } body{{kReceiverOp, 0, 4096, 2048, sizeof body.key, 0, {}}, {}};
    EXPECT_TRUE(deliver(wire::make_header(wire::Kind::rtr, op), &body, sizeof body, 0));
    rounds();
    ASSERT_FALSE(sends.empty());
    EXPECT_TRUE(ask(op, 1));
    end(op, Status::ok, 1);
    const auto complete = [&] {
      for (stria_completion_t* one : std::exchange(sends, {})) {
        EXPECT_EQ(ends_, 0u);
        one->done(one, STRIA_OK);
      }
    };
    switch (how[0]) {
      case 'k':
        EXPECT_TRUE(end_key(op, 1));
        complete();
        break;
      case 's':
        complete();
        EXPECT_EQ(ends_, 0u);
        EXPECT_TRUE(end_key(op, 1));
        break;
      case 'r':
        engine_.fail_rail(links_[0], links_[1]);
        complete();
        break;
      default:
        engine_.fail_link(links_[0], Status::peer_failed);
        EXPECT_TRUE(keys_.empty());
        complete();
        break;
    }
    EXPECT_EQ(ends_, 1u);
    EXPECT_TRUE(keys_.empty());
    EXPECT_TRUE(engine_.idle());
  }
}

TEST_F(RailKeysTest, are_ended_by_no_packet_that_makes_no_sense) {
  peers_[2].is_full = true;
  const wire::OpId op = announce();
  EXPECT_FALSE(end_key(op, 1)) << "no key was asked for";
  EXPECT_TRUE(ask(op, 1) && ask(op, 2));
  EXPECT_FALSE(end_key(op, 0)) << "by the main link";
  EXPECT_FALSE(end_key(op, 1, 1)) << "with a body";
  EXPECT_FALSE(end_key(op, 2)) << "the key was not sent yet";
  EXPECT_TRUE(end_key(op + 1, 1)) << "of no operation: dropped";
  const auto header = wire::make_header(wire::Kind::end_key, op);
  EXPECT_TRUE(engine_.on_end_key(links_[2], {&header, nullptr, 0, 1, 0}, &links_[1]))
      << "by another peer: dropped";
  EXPECT_EQ(keys_.size(), 3u);
  EXPECT_TRUE(end_key(op, 1));
  EXPECT_FALSE(end_key(op, 1)) << "twice";
  EXPECT_FALSE(ask(op, 1)) << "a rail has one key of a message";
  EXPECT_EQ(keys_.size(), 2u);
  EXPECT_EQ(ends_, 0u);
  end(op, Status::ok, 0xff);
  EXPECT_EQ(ends_, 1u) << "no key lives that the receiver could end";
  EXPECT_TRUE(keys_.empty());
}

TEST_F(RailKeysTest, that_are_awaited_change_by_their_packets_alone) {
  const wire::OpId op = announce();
  EXPECT_TRUE(ask(op, 1));
  end(op, Status::ok, 1);
  EXPECT_TRUE(ask(op, 2)) << "dropped";
  EXPECT_TRUE(ask_for_fragments(op, 0)) << "dropped";
  EXPECT_TRUE(ask_for_fragments(op, 1)) << "dropped";
  end(op);
  end(op, Status::io_error, 1);
  EXPECT_FALSE(end_key(op, 2));
  rounds();
  EXPECT_EQ(keys_.size(), 1u);
  EXPECT_EQ(ends_, 0u);
  EXPECT_TRUE(end_key(op, 1));
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(outcome_, Status::ok);
}

TEST_F(RailKeysTest, are_not_made_for_requests_that_make_no_sense) {
  const wire::OpId op = announce();
  const wire::AskKeyBody ninth{kReceiverOp};
  EXPECT_FALSE(deliver(wire::make_ask_key(op, STRIA_DEVICES_MAX), &ninth, sizeof ninth, 1))
      << "a number that no rail has";
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
