// The engine against a confused or hostile peer: stale and invented names, bad ranges, bad fragments, packets
// of the wrong length and on the wrong link. Nothing but the operation's own memory may be written, and every
// operation ends exactly once. The provider is a table of recording functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "rndv/engine.hpp"

namespace stria::rndv {
namespace {

struct Sent {
  stria_header_t header;
  std::vector<std::byte> bytes;
};

/// The far side of a link: keeps what was sent, refuses when told to.
struct Wire {
  std::vector<Sent> sent;
  stria_status_t answer = STRIA_OK;
};

stria_status_t keep(stria_link_t* link, const stria_header_t* header, const void* data, std::uint64_t bytes) {
  auto& wire = *reinterpret_cast<Wire*>(link);
  if (wire.answer != STRIA_OK) return wire.answer;
  const auto* begin = static_cast<const std::byte*>(data);
  wire.sent.push_back({*header, {begin, begin + bytes}});
  return STRIA_OK;
}

const transport::HotOps kOps = {
    .eager_send =
        [](stria_link_t* link, const stria_header_t* header, const stria_payload_t* payload) {
          const auto* base = static_cast<const std::byte*>(payload->base);
          return keep(link, header, base == nullptr ? base : base + payload->offset,
                      static_cast<std::uint64_t>(payload->length));
        },
    .invalidate = [](stria_device_t*, const stria_provider_key_t*) { return STRIA_OK; },
};

constexpr std::uint32_t kFragment = 1024;
constexpr std::uint64_t kLength = 3000;  // three fragments, the last one short

class Hostile : public ::testing::Test {
 protected:
  Hostile()
      : engine_({Force::pipeline, 1u << 20, kFragment}, {this, &Hostile::on_sent, &Hostile::on_received}) {
    for (unsigned i = 0; i < 2; ++i) {
      links_[i].ops = &kOps;
      links_[i].link = reinterpret_cast<stria_link_t*>(&wires_[i]);
      links_[i].eager_max = 4096;
    }
    memory_.assign(kGuard + kLength + kGuard, std::byte{0x11});
  }
  static constexpr std::size_t kGuard = 8192;

  static void on_sent(void* self, SendOp&) { ++static_cast<Hostile*>(self)->sent_ends_; }
  static void on_received(void* self, RecvOp&) { ++static_cast<Hostile*>(self)->received_ends_; }

  transport::Payload memory(std::uint64_t length = kLength) {
    const auto bytes = static_cast<std::int64_t>(length);
    return {nullptr, memory_.data() + kGuard, bytes, 0, bytes};
  }
  bool guards_untouched() const {
    for (std::size_t i = 0; i < kGuard; ++i)
      if (memory_[i] != std::byte{0x11} || memory_[kGuard + kLength + i] != std::byte{0x11}) return false;
    return true;
  }

  template <class Body>
  static transport::Packet packet(const stria_header_t& header, const Body& body) {
    return {&header, &body, sizeof(body), 1, 0};
  }

  /// A send that was announced; returns the name the peer was told.
  wire::OpId announce(SendOp& op) {
    op.link = &links_[0];
    op.memory = memory();
    op.length = kLength;
    EXPECT_EQ(engine_.announce(op, wire::make_header(wire::Kind::rts, 5)), Status::ok);
    wire::RtsBody rts;
    std::memcpy(&rts, wires_[0].sent.back().bytes.data(), sizeof(rts));
    return rts.sender_op;
  }
  /// A receive that asked for its fragments; returns the name the peer was told.
  wire::OpId accept(RecvOp& op) {
    op.link = &links_[0];
    op.memory = memory();
    op.length = kLength;
    Announcement announced;
    announced.length = kLength;
    announced.sender_op = 99;
    engine_.accept(op, announced);
    wire::RtrBody rtr;
    std::memcpy(&rtr, wires_[0].sent.back().bytes.data(), sizeof(rtr));
    return rtr.receiver_op;
  }
  bool rtr(unsigned link, wire::OpId sender_op, const wire::RtrBody& body) {
    const auto header = wire::make_header(wire::Kind::rtr, sender_op);
    return engine_.on_rtr(links_[link], packet(header, body));
  }
  bool frag(unsigned link, wire::OpId op, std::uint64_t place, std::uint32_t bytes,
            std::byte value = std::byte{0x22}) {
    const auto header = wire::make_fragment(op, place);
    const std::vector<std::byte> data(bytes, value);
    return engine_.on_frag(links_[link], {&header, data.data(), bytes, 1, 0}) == Engine::Taken::well;
  }
  void fin(unsigned link, wire::OpId op, int status) {
    const auto header = wire::make_header(wire::Kind::fin, op, static_cast<std::uint32_t>(status));
    engine_.on_fin(links_[link], {&header, nullptr, 0, 1, 0});
  }

  Wire wires_[2];
  transport::LinkRef links_[2];
  std::vector<std::byte> memory_;
  Engine engine_;
  int sent_ends_ = 0;
  int received_ends_ = 0;
};

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

TEST_F(Hostile, fragments_of_no_bytes_are_refused) {
  SendOp op;
  const wire::OpId id = announce(op);
  rtr(0, id, {7, 0, kLength, 0, 0, 0, {}});
  EXPECT_EQ(sent_ends_, 1);
  EXPECT_EQ(op.outcome, Status::invalid);
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

TEST_F(Hostile, a_fragment_that_does_not_fit_ends_the_receive_and_tells_its_sender) {
  // Where the others lie, and the one that does not fit.
  struct Case {
    std::vector<std::array<std::uint64_t, 2>> before;
    std::uint64_t place;
    std::uint32_t bytes;
  };
  const Case kCases[] = {{{}, kLength, 1},
                         {{}, kLength - 1, 2},
                         {{}, 0, kLength + 1},
                         {{}, 1, kLength},
                         {{}, wire::kPutting, 1},
                         {{}, wire::kPutting - 1, 8},
                         {{}, 0, 0},
                         {{}, 1024, 0},
                         {{{0, 1024}}, 0, 1024},
                         {{{0, 1024}}, 1023, 1},
                         {{{0, 1024}}, 1, 2048},
                         {{{1024, 1024}}, 1024, 1024},
                         {{{1024, 1024}}, 0, 1025},
                         {{{1024, 1024}}, 2047, 100},
                         {{{1024, 1024}}, 1500, 1},
                         {{{1024, 1024}}, 0, kLength},
                         {{{1024, 100}, {2000, 100}}, 1200, 801},
                         {{{1024, 100}, {2000, 100}}, 1123, 10},
                         {{{2048, kLength - 2048}, {0, 1024}}, 2048, kLength - 2048}};
  for (const Case& one : kCases) {
    SCOPED_TRACE(testing::Message() << one.bytes << " bytes at " << one.place << " after "
                                    << one.before.size());
    received_ends_ = 0;
    wires_[0].sent.clear();
    RecvOp op;
    const wire::OpId id = accept(op);
    for (const auto& [place, bytes] : one.before)
      ASSERT_TRUE(frag(0, id, place, static_cast<std::uint32_t>(bytes)));
    ASSERT_EQ(received_ends_, 0);
    EXPECT_FALSE(frag(0, id, one.place, one.bytes, std::byte{0x33}));
    EXPECT_EQ(received_ends_, 1);
    EXPECT_EQ(op.outcome, Status::io_error);
    EXPECT_EQ(wires_[0].sent.back().header.kind, static_cast<int>(wire::Kind::fin));
    EXPECT_EQ(wires_[0].sent.back().header.tag, 99u);
    EXPECT_EQ(static_cast<std::int32_t>(wires_[0].sent.back().header.immediate), STRIA_ERR_IO);
    for (const std::byte byte : memory_) ASSERT_NE(byte, std::byte{0x33});
    EXPECT_TRUE(guards_untouched());
    EXPECT_TRUE(engine_.idle());
  }
}

TEST_F(Hostile, fragments_are_taken_in_every_order_and_any_length) {
  const unsigned seed = 20261128;
  std::mt19937 random(seed);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (int round = 0; round < 2000; ++round) {
    received_ends_ = 0;
    std::fill(memory_.begin(), memory_.end(), std::byte{0x11});
    RecvOp op;
    const wire::OpId id = accept(op);
    std::vector<std::array<std::uint64_t, 2>> fragments;
    const std::uint64_t most = 1 + random() % 900;
    for (std::uint64_t at = 0; at < kLength;) {
      const std::uint64_t bytes = std::min(1 + random() % most, kLength - at);
      fragments.push_back({at, bytes});
      at += bytes;
    }
    std::shuffle(fragments.begin(), fragments.end(), random);
    for (const auto& [place, bytes] : fragments) {
      ASSERT_EQ(received_ends_, 0);
      ASSERT_TRUE(frag(0, id, place, static_cast<std::uint32_t>(bytes)));
    }
    ASSERT_EQ(received_ends_, 1);
    ASSERT_EQ(op.outcome, Status::ok);
    ASSERT_TRUE(guards_untouched());
    for (std::uint64_t i = 0; i < kLength; ++i) ASSERT_EQ(memory_[kGuard + i], std::byte{0x22});
  }
}

TEST_F(Hostile, a_peer_that_leaves_gap_after_gap_ends_its_receive) {
  std::vector<std::byte> large(4 * Ahead::kMost);
  RecvOp op;
  op.link = &links_[0];
  op.length = large.size();
  op.memory = {nullptr, large.data(), static_cast<std::int64_t>(large.size()), 0,
               static_cast<std::int64_t>(large.size())};
  Announcement announced;
  announced.length = large.size();
  announced.sender_op = 99;
  engine_.accept(op, announced);
  wire::RtrBody rtr;
  std::memcpy(&rtr, wires_[0].sent.back().bytes.data(), sizeof(rtr));
  for (std::uint64_t i = 0; i < Ahead::kMost; ++i) ASSERT_TRUE(frag(0, rtr.receiver_op, 2 * i + 1, 1));
  EXPECT_EQ(received_ends_, 0);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(frag(0, rtr.receiver_op, large.size() - 1, 1));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("gaps"), std::string::npos);
  EXPECT_EQ(received_ends_, 1);
  EXPECT_EQ(op.outcome, Status::io_error);
  EXPECT_TRUE(engine_.idle());
}

TEST_F(Hostile, a_sender_that_streams_ends_when_its_receiver_refuses_the_fragments) {
  SendOp op;
  const wire::OpId id = announce(op);
  wires_[0].answer = STRIA_ERR_NO_RESOURCE;
  rtr(0, id, {7, 0, kLength, kFragment, 0, 0, {}});
  EXPECT_EQ(sent_ends_, 0);
  fin(0, id, STRIA_ERR_IO);
  EXPECT_EQ(sent_ends_, 1);
  EXPECT_EQ(op.outcome, Status::io_error);
  EXPECT_TRUE(engine_.idle());
}

TEST_F(Hostile, fragments_that_name_no_receive_of_their_link_are_dropped) {
  RecvOp op;
  const wire::OpId id = accept(op);
  EXPECT_TRUE(frag(1, id, 0, kFragment)) << "another peer guesses the name";
  EXPECT_TRUE(frag(0, id + 1, 0, kFragment));
  EXPECT_TRUE(frag(0, id + (1ull << 32), 0, kFragment));
  EXPECT_TRUE(frag(0, 0, 0, kFragment));
  EXPECT_EQ(received_ends_, 0);
  EXPECT_EQ(op.moved, 0u);
  for (const std::byte byte : memory_) ASSERT_EQ(byte, std::byte{0x11});
  for (const std::uint64_t place : {2 * kFragment, 0u, kFragment})
    frag(0, id, place, place == 2 * kFragment ? kLength - 2 * kFragment : kFragment);
  EXPECT_EQ(received_ends_, 1);
  EXPECT_EQ(op.outcome, Status::ok);
  EXPECT_TRUE(guards_untouched());
  for (std::uint64_t i = 0; i < kLength; ++i) ASSERT_EQ(memory_[kGuard + i], std::byte{0x22});
  frag(0, id, 0, kFragment, std::byte{0x33});  // stale
  EXPECT_EQ(memory_[kGuard], std::byte{0x22});
  EXPECT_EQ(received_ends_, 1);
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
