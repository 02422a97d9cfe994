// A receiver that reads a long message by several links: when a rail joins, what happens when a get by it
// fails, or one by the main link is refused, and that the operation waits for every get that is under way.
// And answers to its requests for keys that are hostile.
#include "tests/rndv/rail_gets_rig.hpp"

namespace stria::rndv {
namespace {

class RailReads : public RailGetsRig {
 protected:
  static constexpr wire::OpId kSenderOp = 0x500000007;
  RecvOp& receive(std::uint64_t length = kLength) {
    Announcement announced;
    announced.length = kLength;
    announced.sender_op = kSenderOp;
    announced.key.bytes = 16;
    std::memset(announced.key.data, 0x11, sizeof announced.key.data);
    RecvOp& op = prepare(receives_, room_);
    op.length = length;
    op.memory.length = static_cast<std::int64_t>(length);
    engine_.accept(op, announced);
    rounds();
    return op;
  }
  bool give_key(const RecvOp& op, unsigned link, std::size_t bytes = 16) {
    std::array<std::uint8_t, 2 * std::size_t{STRIA_PROVIDER_KEY_MAX}> key{};
    key.fill(static_cast<std::uint8_t>(0x20 + link));
    const bool taken = deliver(wire::make_header(wire::Kind::rail_key, op.id), key.data(), bytes, link);
    rounds();
    return taken;
  }
  /// `ended`: rails that the FIN names.
  void expect_whole(std::uint8_t ended = 0) {
    EXPECT_EQ(ends_, 1u);
    EXPECT_EQ(outcome_, Status::ok);
    EXPECT_EQ(room_, source_);
    const auto fins = take_sent(wire::Kind::fin);
    ASSERT_EQ(fins.size(), 1u);
    EXPECT_EQ(fins[0].link, 0u);
    EXPECT_EQ(fins[0].header.tag, kSenderOp);
    EXPECT_EQ(fins[0].header.immediate, 0u);
    EXPECT_EQ(fins[0].header.flags, ended);
  }
  /// Both rails have keys, and all bytes are there but those of one get.
  const RecvOp& receive_nearly_all() {
    const RecvOp& op = receive();
    EXPECT_TRUE(give_key(op, 1) && give_key(op, 2));
    while (gets_.size() > 1) {
      end_get(gets_.front().link);
      rounds();
    }
    return op;
  }
  /// The links of packets that end keys, in the order in which they went; 0 is the FIN.
  std::vector<unsigned> order_of_ends() {
    std::vector<unsigned> order;
    for (const Sent& one : last_ones_) order.push_back(one.link);
    return order;
  }
  /// Ends gets well, those of all links in turn, until there are none.
  void end_all_gets() {
    while (!gets_.empty()) {
      end_get(gets_.front().link);
      rounds();
    }
  }
};

TEST_F(RailReads, begin_by_the_main_link_and_each_rail_joins_when_its_key_comes) {
  const RecvOp& op = receive();
  EXPECT_EQ(gets_of(0), Division::kDepth);
  EXPECT_EQ(gets_.size(), Division::kDepth);
  const auto asked = take_sent(wire::Kind::ask_key);
  ASSERT_EQ(asked.size(), 2u);
  for (const Sent& one : asked) {
    EXPECT_EQ(one.header.tag, kSenderOp);
    wire::AskKeyBody body;
    ASSERT_EQ(one.payload.size(), sizeof body);
    std::memcpy(&body, one.payload.data(), sizeof body);
    EXPECT_EQ(body.receiver_op, op.id);
  }
  EXPECT_NE(asked[0].link, asked[1].link);
  EXPECT_NE(asked[0].header.flags, asked[1].header.flags) << "each has a number";
  EXPECT_TRUE(give_key(op, 2));
  EXPECT_EQ(gets_of(2), Division::kDepth);
  EXPECT_EQ(gets_of(1), 0u);
  EXPECT_TRUE(give_key(op, 1));
  EXPECT_EQ(gets_of(1), Division::kDepth);
  for (const Get& get : gets_) EXPECT_EQ(get.key.data[0], get.link == 0 ? 0x11 : 0x20 + get.link);
  end_all_gets();
  expect_whole(3);
  EXPECT_GT(engine_.counters().by_rails, 0u);
  EXPECT_EQ(engine_.counters().get, 1u);
  EXPECT_TRUE(take_sent(wire::Kind::ask_key).empty()) << "a rail is asked once";
}

TEST_F(RailReads, take_each_byte_once_while_all_goes_well) {
  const RecvOp& op = receive();
  EXPECT_TRUE(give_key(op, 1) && give_key(op, 2));
  std::vector<unsigned> times(kLength);
  while (!gets_.empty()) {
    const Get get = end_get(gets_.back().link);
    for (std::uint64_t i = 0; i < get.bytes; ++i) ++times[get.begin + i];
    rounds();
  }
  expect_whole(3);
  EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](unsigned one) { return one == 1; }));
}

TEST_F(RailReads, end_the_key_of_each_rail_by_a_packet_of_the_rail_and_then_the_message) {
  receive_nearly_all();
  EXPECT_TRUE(last_ones_.empty()) << "a get is under way";
  end_get(gets_.front().link);
  rounds();
  expect_whole(3);
  EXPECT_EQ(order_of_ends(), (std::vector<unsigned>{1, 2, 0}));
  for (const Sent& one : take_sent(wire::Kind::end_key)) {
    EXPECT_EQ(one.header.tag, kSenderOp);
    EXPECT_EQ(one.ended.bytes, 16u);
    EXPECT_EQ(one.ended.data[0], 0x20 + one.link) << "the rail's own";
  }
}

TEST_F(RailReads, end_when_there_is_room_for_the_packets_that_end_keys) {
  receive_nearly_all();
  peers_[1].is_full = peers_[0].is_full = true;
  end_get(gets_.front().link);
  rounds();
  EXPECT_EQ(order_of_ends(), (std::vector<unsigned>{2}));
  peers_[0].is_full = false;
  rounds();
  EXPECT_EQ(ends_, 0u) << "the FIN is last";
  EXPECT_FALSE(engine_.resting());
  peers_[0].is_full = true;
  peers_[1].is_full = false;
  rounds();
  EXPECT_EQ(ends_, 0u);
  EXPECT_EQ(order_of_ends(), (std::vector<unsigned>{2, 1}));
  peers_[0].is_full = false;
  rounds();
  expect_whole(3);
  EXPECT_EQ(order_of_ends(), (std::vector<unsigned>{2, 1, 0}));
}

TEST_F(RailReads, end_without_a_packet_of_a_rail_that_dies_and_name_it) {
  // While gets are under way, or when all is there and the packet finds no room.
  for (const bool is_reading : {true, false}) {
    ends_ = 0;
    last_ones_.clear();
    receive_nearly_all();
    if (is_reading) {
      while (gets_of(1) != 0) end_get(1, STRIA_ERR_PEER_FAILED);
      engine_.fail_rail(links_[0], links_[1]);
      end_all_gets();
    } else {
      peers_[1].is_full = true;
      end_all_gets();
      rounds();
      EXPECT_EQ(ends_, 0u);
      engine_.fail_rail(links_[0], links_[1]);
    }
    peers_[1].is_full = false;
    rounds();
    expect_whole(3);
    EXPECT_EQ(order_of_ends(), (std::vector<unsigned>{2, 0}));
  }
}

TEST_F(RailReads, name_a_rail_that_answers_that_it_is_dead) {
  receive_nearly_all();
  peers_[1].end_answer = STRIA_ERR_PEER_FAILED;
  end_all_gets();
  expect_whole(3);
  EXPECT_EQ(order_of_ends(), (std::vector<unsigned>{2, 0}));
}

TEST_F(RailReads, leave_keys_to_the_sender_that_no_packet_can_end) {
  for (const stria_status_t why : {STRIA_ERR_UNSUPPORTED, STRIA_ERR_ACCESS}) {
    ends_ = 0;
    peers_[1].end_answer = STRIA_OK;
    receive_nearly_all();
    peers_[1].end_answer = why;
    end_all_gets();
    expect_whole(2);
  }
}

TEST_F(RailReads, that_fail_end_keys_of_rails_too) {
  const RecvOp& op = receive();
  EXPECT_TRUE(give_key(op, 2));
  end_get(0, STRIA_ERR_ACCESS);
  while (!gets_.empty()) end_get(gets_.front().link);
  rounds();
  EXPECT_EQ(outcome_, Status::peer_failed);
  EXPECT_EQ(order_of_ends(), (std::vector<unsigned>{2, 0}));
  EXPECT_EQ(last_ones_.back().header.flags, 2u);
}

TEST_F(RailReads, end_without_packets_when_their_peer_dies_before_these_find_room) {
  receive_nearly_all();
  peers_[1].is_full = true;
  end_all_gets();
  EXPECT_EQ(ends_, 0u);
  engine_.fail_link(links_[0], Status::peer_failed);
  EXPECT_EQ(ends_, 1u);
  peers_[1].is_full = false;
  rounds();
  EXPECT_EQ(order_of_ends(), (std::vector<unsigned>{2}));
}

TEST_F(RailReads, take_no_key_while_packets_that_end_keys_find_no_room) {
  const RecvOp& op = receive();
  EXPECT_TRUE(give_key(op, 1));
  peers_[1].is_full = true;
  end_all_gets();
  EXPECT_EQ(ends_, 0u);
  EXPECT_TRUE(give_key(op, 2)) << "it is late: dropped";
  peers_[1].is_full = false;
  rounds();
  expect_whole(1);
  EXPECT_EQ(order_of_ends(), (std::vector<unsigned>{1, 0})) << "the sender ends the other one";
}

TEST_F(RailReads, need_no_key_to_end) {
  const RecvOp& op = receive();
  const wire::OpId id = op.id;
  end_all_gets();
  expect_whole();
  EXPECT_TRUE(deliver(wire::make_header(wire::Kind::rail_key, id), nullptr, 0, 1)) << "it is late: dropped";
}

TEST_F(RailReads, leave_a_rail_out_that_has_no_key_or_cannot_get) {
  links_[2].can_get = false;
  const RecvOp& op = receive();
  EXPECT_EQ(take_sent(wire::Kind::ask_key).size(), 1u);
  EXPECT_TRUE(give_key(op, 1, 0));
  EXPECT_EQ(gets_.size(), gets_of(0));
  end_all_gets();
  expect_whole();
}

TEST_F(RailReads, are_of_messages_that_are_long_enough_for_the_receive) {
  receive(kPiece - 1);
  EXPECT_TRUE(take_sent(wire::Kind::ask_key).empty());
  ASSERT_EQ(gets_.size(), 1u);
  EXPECT_EQ(gets_[0].bytes, kPiece - 1);
  end_get(0);
  rounds();
  EXPECT_EQ(ends_, 1u);
  receive(kPiece);
  EXPECT_EQ(take_sent(wire::Kind::ask_key).size(), 2u);
  end_all_gets();
  EXPECT_EQ(ends_, 2u);
}

TEST_F(RailReads, ask_for_a_key_as_soon_as_there_is_room) {
  peers_[1].is_full = true;
  const RecvOp& op = receive();
  EXPECT_EQ(take_sent(wire::Kind::ask_key).size(), 1u);
  peers_[1].is_full = false;
  rounds();
  const auto asked = take_sent(wire::Kind::ask_key);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].link, 1u);
  EXPECT_TRUE(give_key(op, 1));
  EXPECT_EQ(gets_of(1), Division::kDepth);
  end_all_gets();
  expect_whole(2);
}

TEST_F(RailReads, read_again_by_other_links_what_a_rail_did_not_bring_once_its_get_has_ended) {
  for (const stria_status_t why : {STRIA_ERR_UNSUPPORTED, STRIA_ERR_PEER_FAILED, STRIA_ERR_ACCESS}) {
    ends_ = 0;
    std::fill(room_.begin(), room_.end(), std::byte{0});
    const RecvOp& op = receive();
    EXPECT_TRUE(give_key(op, 1));
    const Get first = *std::find_if(gets_.begin(), gets_.end(), [](const Get& one) { return one.link == 1; });
    // All that no rail was asked for comes; the rail's own is left alone while its gets are under way.
    while (gets_of(0) != 0) {
      const Get get = end_get(0);
      EXPECT_FALSE(get.begin < first.begin + first.bytes && first.begin < get.begin + get.bytes);
      rounds();
    }
    EXPECT_EQ(gets_of(1), Division::kDepth);
    EXPECT_EQ(ends_, 0u);
    end_get(1, why);
    rounds();
    ASSERT_EQ(gets_of(0), 1u) << "its bytes alone are free again";
    EXPECT_EQ(gets_.back().begin, first.begin);
    EXPECT_EQ(gets_.back().bytes, first.bytes);
    end_get(1);  // the other one comes
    rounds();
    EXPECT_EQ(gets_of(1), 0u) << "it is left out";
    engine_.fail_rail(links_[0], links_[1]);
    end_all_gets();
    expect_whole(1);
  }
}

TEST_F(RailReads, try_no_rail_again_whose_get_failed) {
  const RecvOp& op = receive();
  EXPECT_TRUE(give_key(op, 1));
  EXPECT_EQ(gets_of(0), Division::kDepth) << "it has no room for what becomes free";
  end_get(1, STRIA_ERR_UNSUPPORTED);
  rounds();
  EXPECT_EQ(gets_of(1), Division::kDepth - 1);
  EXPECT_FALSE(give_key(op, 2) && give_key(op, 2));
  EXPECT_EQ(gets_of(2), Division::kDepth) << "the other rail goes on";
  end_all_gets();
  expect_whole(3);
}

TEST_F(RailReads, wait_for_gets_under_way_when_the_main_link_is_refused_and_ask_for_the_rest_alone) {
  const RecvOp& op = receive();
  EXPECT_TRUE(give_key(op, 1));
  std::vector<bool> is_there(kLength);
  const auto comes = [&](const Get& get) {
    std::fill_n(is_there.begin() + static_cast<std::ptrdiff_t>(get.begin), get.bytes, true);
  };
  comes(end_get(1));
  rounds();
  end_get(0, STRIA_ERR_UNSUPPORTED);
  rounds();
  EXPECT_TRUE(take_sent(wire::Kind::rtr).empty()) << "gets are under way";
  comes(end_get(0));
  rounds();
  while (gets_of(1) != 0) comes(end_get(1));
  EXPECT_TRUE(gets_.empty()) << "none began meanwhile";
  EXPECT_EQ(engine_.counters().pipeline, 0u);
  rounds();
  EXPECT_EQ(engine_.counters().pipeline, 1u);
  EXPECT_TRUE(give_key(op, 2)) << "it was asked for before: dropped";
  for (auto asked = take_sent(wire::Kind::rtr); !asked.empty(); asked = take_sent(wire::Kind::rtr)) {
    for (const Sent& one : asked) {
      wire::RtrBody body;
      std::memcpy(&body, one.payload.data(), sizeof body);
      EXPECT_EQ(body.piece, 1u);
      for (std::uint64_t at = body.offset; at < body.offset + body.length; at += body.fragment_bytes) {
        const std::uint64_t bytes =
            std::min<std::uint64_t>(body.fragment_bytes, body.offset + body.length - at);
        for (std::uint64_t i = at; i < at + bytes; ++i) {
          ASSERT_FALSE(is_there[i]) << "asked for twice";
          is_there[i] = true;
        }
        EXPECT_TRUE(deliver(wire::make_fragment(op.id, at), source_.data() + at, bytes, one.link));
      }
    }
    rounds();
  }
  expect_whole();
}

TEST_F(RailReads, of_a_key_that_ended_end_with_an_error_once_no_get_is_under_way) {
  const RecvOp& op = receive();
  EXPECT_TRUE(give_key(op, 1));
  end_get(0, STRIA_ERR_ACCESS);
  rounds();
  end_get(1);
  end_get(1);
  rounds();
  EXPECT_EQ(ends_, 0u);
  EXPECT_EQ(gets_.size(), 1u) << "none begins any more";
  end_get(0);
  rounds();
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(outcome_, Status::peer_failed);
  const auto fins = take_sent(wire::Kind::fin);
  ASSERT_EQ(fins.size(), 1u);
  EXPECT_EQ(static_cast<std::int32_t>(fins[0].header.immediate), static_cast<int>(Status::peer_failed));
}

TEST_F(RailReads, wait_for_gets_under_way_when_their_peer_dies) {
  const RecvOp& op = receive();
  EXPECT_TRUE(give_key(op, 1) && give_key(op, 2));
  engine_.fail_link(links_[0], Status::peer_failed);
  while (!gets_.empty()) {
    EXPECT_EQ(ends_, 0u);
    rounds();
    end_get(gets_.front().link, gets_.size() % 2 != 0 ? STRIA_OK : STRIA_ERR_PEER_FAILED);
  }
  rounds();
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(outcome_, Status::peer_failed);
  EXPECT_TRUE(take_sent(wire::Kind::fin).empty());
}

TEST_F(RailReads, end_when_the_worker_closes_with_gets_under_way) {
  const RecvOp& op = receive();
  EXPECT_TRUE(give_key(op, 1));
  EXPECT_GT(gets_.size(), 0u);
}

TEST_F(RailReads, take_no_key_that_was_not_asked_for) {
  peers_[2].is_full = true;
  const RecvOp& op = receive();
  EXPECT_FALSE(give_key(op, 0)) << "by the main link";
  EXPECT_FALSE(give_key(op, 2)) << "the rail did not ask";
  EXPECT_FALSE(give_key(op, 1, STRIA_PROVIDER_KEY_MAX + 1));
  EXPECT_EQ(gets_of(1) + gets_of(2), 0u);
  EXPECT_TRUE(give_key(op, 1, STRIA_PROVIDER_KEY_MAX));
  EXPECT_FALSE(give_key(op, 1)) << "a second one";
  EXPECT_TRUE(deliver(wire::make_header(wire::Kind::rail_key, op.id + 1), nullptr, 0, 1))
      << "of no operation";
  for (const Get& get : gets_)
    EXPECT_TRUE(get.link == 0 || get.key.bytes == STRIA_PROVIDER_KEY_MAX) << "the first one serves";
  EXPECT_EQ(ends_, 0u);
  end_all_gets();
  expect_whole(1);
}

TEST_F(RailReads, of_fragments_take_no_key) {
  Announcement announced;
  announced.length = kLength;
  announced.sender_op = kSenderOp;
  rails_.clear();
  RecvOp& op = prepare(receives_, room_);
  engine_.accept(op, announced);
  ASSERT_NE(op.id, 0u);
  EXPECT_FALSE(deliver(wire::make_header(wire::Kind::rail_key, op.id), nullptr, 0, 1));
  EXPECT_EQ(ends_, 0u);
}

}  // namespace
}  // namespace stria::rndv
