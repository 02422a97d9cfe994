// A peer that asks for pieces of a long message badly, or sends fragments that were not asked of their link:
// its message ends with an error, or the packet is dropped, and nothing else happens. And what a rail that
// died did not bring is asked for again, byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "rndv/engine.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {
namespace {

/// One side's engine with two links, whose peer is the test.
class HostileRails : public testing::Test {
 protected:
  static constexpr std::uint64_t kLength = 100000, kPiece = 16384;
  struct Sent {
    stria_header_t header;
    std::vector<std::byte> payload;
    unsigned link;
  };
  explicit HostileRails(std::uint64_t length = kLength, std::uint64_t piece = kPiece)
      : length_(length),
        engine_({.force = Force::pipeline,
                 .fragment_bytes = 4096,
                 .fragment_fixed = true,
                 .rails_from = piece,
                 .piece_bytes = piece},
                {this, [](void* self, SendOp& op) { static_cast<HostileRails*>(self)->ended(op); },
                 [](void* self, RecvOp& op) { static_cast<HostileRails*>(self)->ended(op); }, nullptr,
                 [](void* self, const transport::LinkRef&) {
                   auto& rails = static_cast<HostileRails*>(self)->rails_;
                   return std::span<const transport::LinkRef* const>{rails.data(), rails.size()};
                 }}) {
    ops_.eager_send = [](stria_link_t* link, const stria_header_t* header, const stria_payload_t* payload) {
      auto& self = *reinterpret_cast<std::pair<HostileRails*, unsigned>*>(link);
      if (self.first->is_full_) return STRIA_ERR_NO_RESOURCE;
      Sent& one = self.first->sent_.emplace_back(Sent{*header, {}, self.second});
      one.payload.resize(static_cast<std::size_t>(payload->length));
      transport::pack(*payload, one.payload.data());
      return STRIA_OK;
    };
    for (unsigned i = 0; i < 2; ++i) {
      names_[i] = {this, i};
      transport::LinkLimits limits{};
      limits.eager_max = 4096;
      links_[i].ops = &ops_;
      links_[i].link = reinterpret_cast<stria_link_t*>(&names_[i]);
      links_[i].take(limits);
    }
    links_[0].railed = true;
  }
  ~HostileRails() override {
    engine_.fail_link(links_[0], Status::cancelled);
    EXPECT_TRUE(engine_.idle());
  }
  void ended(const Operation& op) {
    ++ends_;
    outcome_ = op.outcome;
  }
  template <class Op>
  Op& prepare(std::deque<Op>& ops) {
    Op& op = ops.emplace_back();
    op.link = &links_[0];
    op.memory = transport::LinkRef::contiguous_payload(memory_.data(), static_cast<std::int64_t>(length_));
    op.length = length_;
    return op;
  }
  wire::OpId announce() {
    SendOp& op = prepare(sends_);
    EXPECT_EQ(engine_.announce(op, wire::make_header(wire::Kind::rts, 1)), Status::ok);
    sent_.clear();
    return op.id;
  }
  bool ask(wire::OpId op, std::uint64_t begin, std::uint64_t bytes, unsigned link = 1,
           wire::OpId receiver = 77, std::uint32_t fragment = 4096, std::uint8_t key_bytes = 0,
           std::uint8_t piece = 1) {
    struct {
      wire::RtrBody body;
      std::byte key[8];
    } packet{{receiver, begin, bytes, fragment, key_bytes, piece, {}}, {}};
    const auto header = wire::make_header(wire::Kind::rtr, op);
    return engine_.on_rtr(
        links_[0], {&header, &packet, static_cast<std::uint32_t>(sizeof(wire::RtrBody)) + key_bytes, 1, 0},
        link == 0 ? nullptr : &links_[link]);
  }
  /// A receive whose message is divided: the pieces that it asks for, and of which link.
  struct Asked {
    wire::RtrBody body;
    unsigned link;
  };
  std::vector<Asked> receive() {
    sent_.clear();
    Announcement announced;
    announced.length = length_;
    announced.sender_op = 99;
    engine_.accept(prepare(receives_), announced);
    return take_requests();
  }
  std::vector<Asked> take_requests() {
    std::vector<Asked> asked;
    for (const Sent& one : std::exchange(sent_, {})) {
      EXPECT_EQ(one.header.kind, static_cast<std::uint8_t>(wire::Kind::rtr));
      wire::RtrBody body;
      std::memcpy(&body, one.payload.data(), sizeof body);
      EXPECT_EQ(body.piece, 1u);
      asked.push_back({body, one.link});
    }
    return asked;
  }
  Engine::FragmentOutcome fragment(const Asked& asked, std::uint64_t place, std::uint32_t bytes,
                                   unsigned link) {
    const auto header = wire::make_fragment(asked.body.receiver_op, place);
    const std::vector<std::byte> payload(bytes);
    return engine_.on_frag(links_[0], {&header, payload.data(), bytes, 1, 0},
                           link == 0 ? nullptr : &links_[link]);
  }

  const std::uint64_t length_;
  transport::HotOps ops_;
  std::pair<HostileRails*, unsigned> names_[2];
  transport::LinkRef links_[2];
  std::vector<const transport::LinkRef*> rails_{&links_[1]};
  std::vector<std::byte> memory_ = std::vector<std::byte>(length_);
  std::vector<Sent> sent_;
  std::deque<SendOp> sends_;
  std::deque<RecvOp> receives_;
  bool is_full_ = false;
  Engine engine_;
  unsigned ends_ = 0;
  Status outcome_ = Status::in_progress;
};

TEST_F(HostileRails, a_request_for_a_piece_is_answered_on_its_link_with_what_it_asks_for) {
  const wire::OpId op = announce();
  EXPECT_TRUE(ask(op, 5000, 6000, 1));
  ASSERT_EQ(sent_.size(), 2u);
  for (const Sent& one : sent_) EXPECT_EQ(one.link, 1u);
  EXPECT_EQ(wire::place_of(sent_[0].header), 5000u);
  EXPECT_EQ(sent_[0].payload.size() + sent_[1].payload.size(), 6000u);
  EXPECT_EQ(ends_, 0u) << "the receiver's FIN ends it";
}

TEST_F(HostileRails, a_request_for_a_piece_that_the_message_has_not_ends_it_with_an_error) {
  const struct {
    std::uint64_t begin, bytes;
  } kBad[] = {{0, kLength + 1}, {kLength, 1}, {kLength, 0}, {0, 0}, {1, kLength}, {~0ull, 2}, {2, ~0ull}};
  for (const auto& bad : kBad) {
    for (const bool is_first : {true, false}) {
      const wire::OpId op = announce();
      ends_ = 0;
      EXPECT_TRUE(is_first || ask(op, 0, 100));
      EXPECT_FALSE(ask(op, bad.begin, bad.bytes));
      EXPECT_EQ(ends_, 1u) << bad.begin << "+" << bad.bytes;
      EXPECT_EQ(outcome_, Status::invalid);
      EXPECT_EQ(sent_.back().header.kind, static_cast<std::uint8_t>(wire::Kind::fin));
      EXPECT_TRUE(ask(op, 0, 100)) << "its name is stale now";
    }
  }
  EXPECT_TRUE(engine_.idle());
}

TEST_F(HostileRails, a_request_for_a_piece_with_a_key_or_by_another_receiver_ends_the_message_with_an_error) {
  EXPECT_FALSE(ask(announce(), 0, 100, 1, 77, 4096, 8));
  EXPECT_EQ(ends_, 1u);
  EXPECT_FALSE(ask(announce(), 0, 100, 1, 77, 0));
  EXPECT_EQ(ends_, 2u);
  const wire::OpId op = announce();
  EXPECT_TRUE(ask(op, 0, 100, 1, 77));
  EXPECT_FALSE(ask(op, 0, 100, 1, 78));
  EXPECT_EQ(ends_, 3u);
  EXPECT_EQ(outcome_, Status::invalid);
}

TEST_F(HostileRails, a_receiver_that_asks_for_too_many_pieces_at_a_time_ends_its_message) {
  const wire::OpId op = announce();
  is_full_ = true;
  for (unsigned i = 0; i < PieceSender::kMaxPieces; ++i)
    ASSERT_TRUE(ask(op, 0, kLength)) << "also of the same bytes";
  EXPECT_EQ(ends_, 0u);
  is_full_ = false;
  EXPECT_FALSE(ask(op, 0, kLength));
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(outcome_, Status::invalid);
  sent_.clear();
  engine_.progress();
  EXPECT_TRUE(sent_.empty()) << "nothing more of it is sent";
  EXPECT_TRUE(engine_.resting());
}

TEST_F(HostileRails, requests_of_both_sorts_for_a_message_are_not_mixed) {
  const wire::OpId op = announce();
  EXPECT_TRUE(ask(op, 0, 100));
  sent_.clear();
  EXPECT_FALSE(ask(op, 0, kLength, 0, 77, 4096, 0, 0)) << "for all of it, after a piece";
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(ends_, 0u);
  const wire::OpId other = announce();
  is_full_ = true;
  EXPECT_TRUE(ask(other, 0, kLength, 0, 77, 4096, 0, 0));
  EXPECT_TRUE(ask(other, 0, 100)) << "dropped";
  is_full_ = false;
  for (int i = 0; i < 10; ++i) engine_.progress();
  std::size_t bytes = 0;
  for (const Sent& one : sent_) bytes += one.payload.size();
  EXPECT_EQ(bytes, kLength);
  EXPECT_EQ(ends_, 1u);
}

TEST_F(HostileRails, a_fragment_is_taken_within_a_piece_and_by_its_link_alone) {
  struct Case {
    std::uint64_t from_begin;
    std::uint32_t bytes;
    bool by_its_link;
  };
  const Case kCases[] = {{0, 4096, false}, {0, kPiece + 1, true}, {kPiece - 1, 2, true}, {0, 0, true}};
  for (const Case& one : kCases) {
    const auto asked = receive();
    ASSERT_EQ(asked.size(), 2 * Division::kDepth);
    ends_ = 0;
    const Asked& piece = asked[0];
    EXPECT_EQ(fragment(piece, piece.body.offset, 1, piece.link), Engine::FragmentOutcome::handled);
    EXPECT_EQ(fragment(asked[1], asked[1].body.offset + one.from_begin, one.bytes,
                       one.by_its_link ? asked[1].link : 1 - asked[1].link),
              Engine::FragmentOutcome::misfit);
    EXPECT_EQ(ends_, 1u);
    EXPECT_EQ(outcome_, Status::io_error);
    EXPECT_EQ(sent_.back().header.kind, static_cast<std::uint8_t>(wire::Kind::fin))
        << "its sender hears of it";
  }
  // A byte that comes twice, and one that nobody was asked for.
  for (const std::uint64_t place : {std::uint64_t{0}, kLength - 1}) {
    const auto asked = receive();
    ends_ = 0;
    EXPECT_EQ(fragment(asked[0], asked[0].body.offset, 4096, asked[0].link),
              Engine::FragmentOutcome::handled);
    EXPECT_EQ(fragment(asked[0], place, 1, asked[0].link), Engine::FragmentOutcome::misfit);
    EXPECT_EQ(ends_, 1u);
  }
}

TEST_F(HostileRails, what_a_dead_rail_did_not_bring_is_asked_of_the_main_link_and_nothing_else_is) {
  const auto asked = receive();
  std::vector<bool> is_there(kLength);
  std::size_t expected = 0;
  for (const Asked& one : asked) {
    if (one.link != 1) continue;
    // The second quarter of each of its pieces came.
    const std::uint64_t quarter = one.body.length / 4;
    EXPECT_EQ(fragment(one, one.body.offset + quarter, static_cast<std::uint32_t>(quarter), 1),
              Engine::FragmentOutcome::handled);
    for (std::uint64_t i = 0; i < quarter; ++i) is_there[one.body.offset + quarter + i] = true;
    expected += 2;  // the gaps before it and behind it
  }
  ASSERT_EQ(expected, 2 * Division::kDepth);
  sent_.clear();
  rails_.clear();
  engine_.fail_rail(links_[0], links_[1]);
  // The main link brings all that it is asked for.
  std::deque<Asked> open;
  for (const Asked& one : asked)
    if (one.link == 0) open.push_back(one);
  while (ends_ == 0) {
    engine_.progress();
    for (const Sent& one : std::exchange(sent_, {})) {
      Asked more{{}, one.link};
      std::memcpy(&more.body, one.payload.data(), sizeof more.body);
      open.push_back(more);
    }
    ASSERT_FALSE(open.empty());
    const Asked one = open.front();
    open.pop_front();
    EXPECT_EQ(one.link, 0u);
    for (std::uint64_t i = 0; i < one.body.length; ++i) {
      ASSERT_FALSE(is_there[one.body.offset + i]) << "asked for twice";
      is_there[one.body.offset + i] = true;
    }
    ASSERT_EQ(fragment(one, one.body.offset, static_cast<std::uint32_t>(one.body.length), 0),
              Engine::FragmentOutcome::handled);
  }
  EXPECT_EQ(outcome_, Status::ok);
}

/// With pieces and a message of the lengths that are the defaults.
class SilentRail : public HostileRails {
 protected:
  SilentRail() : HostileRails(1u << 20, 512u << 10) {}
};

// A message waits for the slowest link, so a rail that is much slower than the others must not be asked for
// its full share of the shortest message that is divided, nor long pieces be left for the end.
TEST_F(SilentRail, is_asked_for_a_quarter_of_a_message_at_most_while_the_main_link_brings_the_rest) {
  std::deque<Asked> open;
  std::uint64_t of_rail = 0, of_main = 0, last = 0;
  const auto look = [&](const std::vector<Asked>& asked) {
    for (const Asked& one : asked) {
      (one.link == 0 ? of_main : of_rail) += one.body.length;
      last = one.body.length;
      if (one.link == 0) open.push_back(one);
    }
  };
  look(receive());
  while (!open.empty()) {
    const Asked one = open.front();
    open.pop_front();
    for (std::uint64_t at = 0; at < one.body.length; at += 4096)
      ASSERT_EQ(fragment(one, one.body.offset + at,
                         static_cast<std::uint32_t>(std::min<std::uint64_t>(4096, one.body.length - at)), 0),
                Engine::FragmentOutcome::handled);
    look(take_requests());
  }
  EXPECT_EQ(of_main + of_rail, length_);
  EXPECT_GT(of_rail, 0u);
  EXPECT_LE(of_rail, length_ / 4);
  EXPECT_LE(last, length_ / 16);
}

}  // namespace
}  // namespace stria::rndv
