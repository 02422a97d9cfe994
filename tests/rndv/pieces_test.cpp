// What the two sides of a message that both copy tell each other, and what a confused or hostile peer may
// say. The provider is a table of functions: puts and gets answer what the test wants, what is sent is kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "rndv/engine.hpp"

namespace stria::rndv {
namespace {

struct Sent {
  stria_header_t header;
  std::vector<std::byte> bytes;
};
struct Wire {
  std::vector<Sent> sent;
  std::vector<std::uint64_t> puts, gets;  // where
  stria_status_t put = STRIA_OK, get = STRIA_OK;
  int registered = 0, invalidated = 0;
  std::uint32_t key_bytes = 5;
};

stria_status_t keep(stria_link_t* link, const stria_header_t* header, const void* data, std::uint64_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  reinterpret_cast<Wire*>(link)->sent.push_back({*header, {begin, begin + bytes}});
  return STRIA_OK;
}

const transport::HotOps kOps = {
    .pio_send = [](stria_link_t* link, const stria_header_t* header, const void* payload,
                   std::uint32_t bytes) { return keep(link, header, payload, bytes); },
    .eager_send = [](auto...) { return STRIA_ERR_NO_RESOURCE; },
    .get =
        [](stria_link_t* link, const stria_payload_t*, const stria_provider_key_t*, std::uint64_t at,
           stria_completion_t*) {
          Wire& wire = *reinterpret_cast<Wire*>(link);
          if (wire.get == STRIA_OK) wire.gets.push_back(at);
          return wire.get;
        },
    .send_invalidate = [](stria_link_t* link, const stria_header_t* header, const void*, std::uint32_t,
                          const stria_provider_key_t*) { return keep(link, header, nullptr, 0); },
    .fast_register =
        [](stria_device_t* device, stria_link_t*, const stria_payload_t*, unsigned,
           stria_provider_key_t* key) {
          Wire& wire = *reinterpret_cast<Wire*>(device);
          ++wire.registered;
          key->bytes = wire.key_bytes;
          std::memset(key->data, 0x5a, key->bytes);
          key->data[STRIA_KEY_FLAGS_AT] = STRIA_KEY_MAPPED;
          return STRIA_OK;
        },
    .put =
        [](stria_link_t* link, const stria_payload_t*, const stria_provider_key_t*, std::uint64_t at,
           stria_completion_t*) {
          Wire& wire = *reinterpret_cast<Wire*>(link);
          if (wire.put == STRIA_OK) wire.puts.push_back(at);
          return wire.put;
        },
    .invalidate =
        [](stria_device_t* device, const stria_provider_key_t*) {
          ++reinterpret_cast<Wire*>(device)->invalidated;
          return STRIA_OK;
        },
};

constexpr std::uint64_t kLength = 4u << 20;
constexpr std::uint32_t kSenderKey = 12;
const std::uint32_t kPieceBytes = piece_of({.length = kLength, .mapped = true});

class Pieces : public ::testing::Test {
 protected:
  Pieces()
      : engine_({.force = Force::both, .patience_us = 1000000},
                {this, [](void* self, SendOp&) { ++static_cast<Pieces*>(self)->sent_ends_; },
                 [](void* self, RecvOp&) { ++static_cast<Pieces*>(self)->received_ends_; }}),
        memory_(kLength) {
    link_.ops = &kOps;
    link_.link = reinterpret_cast<stria_link_t*>(&wire_);
    link_.device = reinterpret_cast<stria_device_t*>(&wire_);
    link_.eager_max = 65536;
    link_.pio_below = 257;
    link_.can_map = true;
  }
  ~Pieces() override { EXPECT_TRUE(engine_.idle()) << "operations live in the tests"; }

  void prepare(Operation& op) {
    op.link = &link_;
    op.memory = transport::LinkRef::contiguous_payload(memory_.data(), static_cast<std::int64_t>(kLength));
    op.length = kLength;
  }
  /// The receive of an announced message; what it asked its sender for.
  wire::RtrBody accept(RecvOp& op) {
    prepare(op);
    Announcement announced;
    announced.length = kLength;
    announced.sender_op = 99;
    announced.key.bytes = kSenderKey;
    announced.key.data[STRIA_KEY_FLAGS_AT] = STRIA_KEY_MAPPED;
    engine_.accept(op, announced);
    wire::RtrBody rtr{};
    EXPECT_FALSE(wire_.sent.empty());
    if (!wire_.sent.empty()) std::memcpy(&rtr, wire_.sent.back().bytes.data(), sizeof(rtr));
    return rtr;
  }
  bool piece(wire::OpId op, std::uint64_t place) {
    const auto header = wire::make_fragment(op, place);
    return engine_.on_frag(link_, {&header, nullptr, 0, 0, 0}) == Engine::FragmentOutcome::handled;
  }
  wire::OpId announce(SendOp& op) {
    prepare(op);
    EXPECT_EQ(engine_.announce(op, wire::make_header(wire::Kind::rts, 5)), Status::ok);
    wire::RtsBody rts{};
    std::memcpy(&rts, wire_.sent.back().bytes.data(), sizeof(rts));
    wire_.sent.clear();
    return rts.sender_op;
  }
  /// An RTR with a key of so many bytes, of which `there` are.
  bool rtr(wire::OpId op, wire::RtrBody body, std::uint32_t there) {
    std::vector<std::byte> bytes(sizeof(body) + there);
    std::memcpy(bytes.data(), &body, sizeof(body));
    if (there > STRIA_KEY_FLAGS_AT) bytes[sizeof(body) + STRIA_KEY_FLAGS_AT] = std::byte{STRIA_KEY_MAPPED};
    const auto header = wire::make_header(wire::Kind::rtr, op);
    return engine_.on_rtr(link_, {&header, bytes.data(), static_cast<std::uint32_t>(bytes.size()), 0, 0});
  }
  std::vector<std::uint64_t> told() const {
    std::vector<std::uint64_t> out;
    for (const Sent& sent : wire_.sent)
      if (sent.header.kind == static_cast<int>(wire::Kind::frag)) out.push_back(wire::place_of(sent.header));
    return out;
  }

  Wire wire_;
  transport::LinkRef link_;
  Engine engine_;
  std::vector<std::byte> memory_;
  int sent_ends_ = 0, received_ends_ = 0;
};

TEST_F(Pieces, a_receiver_reads_its_half_from_the_end_and_waits_for_the_other) {
  RecvOp op;
  const wire::RtrBody asked = accept(op);
  const std::uint32_t piece_bytes = kPieceBytes;
  EXPECT_EQ(asked.offset, 0u);
  EXPECT_EQ(asked.length, senders_part(kLength, piece_bytes));
  EXPECT_EQ(asked.fragment_bytes, piece_bytes);
  EXPECT_EQ(asked.key_bytes, 5u);
  ASSERT_EQ(wire_.sent.back().bytes.size(), sizeof(asked) + 5);
  EXPECT_EQ(wire_.sent.back().bytes[sizeof(asked)], std::byte{0x5a});
  for (int i = 0; i < 100; ++i) engine_.progress();
  // All but the piece that the sender would be at.
  std::uint64_t end = kLength;
  for (const std::uint64_t at : wire_.gets) {
    EXPECT_EQ(at, std::max<std::uint64_t>(piece_bytes, end - piece_bytes));
    end = at;
  }
  EXPECT_EQ(end, piece_bytes);
  EXPECT_EQ(received_ends_, 0);
  EXPECT_TRUE(piece(asked.receiver_op, 0));
  EXPECT_EQ(received_ends_, 1);
  EXPECT_EQ(op.outcome, Status::ok);
  EXPECT_EQ(wire_.invalidated, 1) << "its own key";
  EXPECT_EQ(wire_.sent.back().header.kind, static_cast<int>(wire::Kind::fin));
  EXPECT_TRUE(piece(asked.receiver_op, piece_bytes)) << "late";
  EXPECT_EQ(received_ends_, 1);
}

TEST_F(Pieces, may_be_told_of_in_any_order) {
  RecvOp op;
  const wire::RtrBody asked = accept(op);
  wire_.get = STRIA_ERR_NO_RESOURCE;
  const std::uint64_t bytes = asked.fragment_bytes;
  ASSERT_GE(asked.length, 3 * bytes);
  for (std::uint64_t at = asked.length; at != 0; at -= bytes) {
    EXPECT_EQ(op.moved, 0u);
    EXPECT_TRUE(piece(asked.receiver_op, at - bytes));
  }
  EXPECT_TRUE(piece(asked.receiver_op, wire::kPutting)) << "the first of all, overtaken";
  EXPECT_EQ(op.moved, asked.length);
  EXPECT_EQ(received_ends_, 0);
  engine_.fail_link(link_, Status::peer_failed);
  EXPECT_EQ(received_ends_, 1);
  EXPECT_EQ(wire_.invalidated, 1) << "its own key";
}

TEST_F(Pieces, that_were_not_asked_for_or_are_told_of_twice_end_the_receive_and_its_sender) {
  for (const bool twice : {false, true})
    for (const std::uint64_t past : {0u, 1u}) {
      RecvOp op;
      wire_ = {};
      received_ends_ = 0;
      const wire::RtrBody asked = accept(op);
      wire_.get = STRIA_ERR_NO_RESOURCE;
      EXPECT_TRUE(piece(asked.receiver_op, wire::kPutting));
      EXPECT_TRUE(piece(asked.receiver_op, 0));
      EXPECT_FALSE(piece(asked.receiver_op, (twice ? 0 : asked.length) + past));
      EXPECT_EQ(received_ends_, 1);
      EXPECT_EQ(op.outcome, Status::io_error);
      EXPECT_EQ(wire_.invalidated, 1) << "its own key";
      EXPECT_EQ(wire_.sent.back().header.kind, static_cast<int>(wire::Kind::fin));
      EXPECT_EQ(wire_.sent.back().header.tag, 99u);
      EXPECT_EQ(static_cast<std::int32_t>(wire_.sent.back().header.immediate), STRIA_ERR_IO);
    }
}

TEST_F(Pieces, a_key_that_finds_no_room_in_the_window_is_taken_back_and_the_message_read) {
  wire_.key_bytes = 40;
  link_.pio_below = sizeof(wire::RtrBody) + 40;
  RecvOp op;
  prepare(op);
  Announcement announced;
  announced.length = kLength;
  announced.key.bytes = kSenderKey;
  announced.key.data[STRIA_KEY_FLAGS_AT] = STRIA_KEY_MAPPED;
  engine_.accept(op, announced);
  EXPECT_TRUE(wire_.sent.empty());
  EXPECT_EQ(wire_.invalidated, 1);
  for (int i = 0; i < 10; ++i) engine_.progress();
  EXPECT_EQ(received_ends_, 1);
  EXPECT_EQ(engine_.counters().mapped, 1u);
  EXPECT_EQ(engine_.counters().mapped_both, 0u);
}

TEST_F(Pieces, a_sender_that_was_refused_a_get_is_asked_for_the_rest_in_fragments) {
  RecvOp op;
  const wire::RtrBody asked = accept(op);
  wire_.get = STRIA_ERR_UNSUPPORTED;
  engine_.progress();
  engine_.progress();
  EXPECT_TRUE(engine_.resting()) << "the sender is waited for";
  for (std::uint64_t at = 0; at < asked.length; at += asked.fragment_bytes)
    EXPECT_TRUE(piece(asked.receiver_op, at));
  wire_.sent.clear();
  engine_.progress();
  ASSERT_EQ(wire_.sent.size(), 1u);
  wire::RtrBody again{};
  std::memcpy(&again, wire_.sent[0].bytes.data(), sizeof(again));
  EXPECT_EQ(again.offset, asked.length);
  EXPECT_EQ(again.length, kLength - asked.length);
  EXPECT_EQ(again.key_bytes, 0u);
  EXPECT_EQ(wire_.invalidated, 1) << "nothing is put any more";
  engine_.fail_link(link_, Status::peer_failed);
}

TEST_F(Pieces, a_sender_puts_what_it_is_asked_for_tells_of_each_piece_and_waits_for_the_end) {
  SendOp op;
  const wire::OpId id = announce(op);
  const std::uint32_t bytes = kPieceBytes;
  ASSERT_TRUE(rtr(id, {7, 0, 2 * bytes, bytes, 5, 0, {}}, 5));
  for (int i = 0; i < 10; ++i) engine_.progress();
  EXPECT_EQ(wire_.puts, (std::vector<std::uint64_t>{0, bytes}));
  EXPECT_EQ(told(), (std::vector<std::uint64_t>{wire::kPutting, 0, bytes}));
  EXPECT_EQ(sent_ends_, 0);
  const auto fin = wire::make_header(wire::Kind::fin, id, 0);
  engine_.on_fin(link_, {&fin, nullptr, 0, 0, 0});
  EXPECT_EQ(sent_ends_, 1);
  EXPECT_EQ(op.outcome, Status::ok);
}

TEST_F(Pieces, a_sender_packs_what_it_is_asked_to_put_into_memory_that_it_does_not_map) {
  SendOp op;
  const wire::OpId id = announce(op);
  ASSERT_TRUE(rtr(id, {7, 0, 2 * kPieceBytes, kPieceBytes, 4, 0, {}}, 4));
  EXPECT_TRUE(wire_.puts.empty());
  EXPECT_FALSE(engine_.resting()) << "its fragments wait for room";
  engine_.fail_link(link_, Status::peer_failed);
  EXPECT_EQ(sent_ends_, 1);
}

TEST_F(Pieces, a_put_that_is_too_late_is_no_error_and_one_that_fails_is) {
  for (const auto& [put, ends] : {std::pair{STRIA_ERR_ACCESS, 0}, {STRIA_ERR_PEER_FAILED, 1}}) {
    sent_ends_ = 0;
    SendOp op;
    const wire::OpId id = announce(op);
    wire_.put = put;
    ASSERT_TRUE(rtr(id, {7, 0, kLength / 2, kPieceBytes, 5, 0, {}}, 5));
    for (int i = 0; i < 3; ++i) engine_.progress();
    EXPECT_EQ(sent_ends_, ends);
    const auto fin = wire::make_header(wire::Kind::fin, id, 0);
    engine_.on_fin(link_, {&fin, nullptr, 0, 0, 0});
    EXPECT_EQ(sent_ends_, 1);
    EXPECT_EQ(op.outcome, ends == 0 ? Status::ok : Status::peer_failed);
  }
}

TEST_F(Pieces, a_request_whose_key_is_cut_short_or_whose_part_lies_outside_is_refused) {
  SendOp op;
  const wire::OpId id = announce(op);
  const std::uint32_t bytes = kPieceBytes;
  for (const std::uint32_t there : {0u, 4u, 6u})
    EXPECT_FALSE(rtr(id, {7, 0, kLength / 2, bytes, 5, 0, {}}, there));
  EXPECT_EQ(sent_ends_, 0);
  EXPECT_FALSE(rtr(id, {7, kLength / 2, kLength, bytes, 5, 0, {}}, 5));
  EXPECT_EQ(sent_ends_, 1);
  EXPECT_EQ(op.outcome, Status::invalid);
  EXPECT_TRUE(wire_.puts.empty());
}

}  // namespace
}  // namespace stria::rndv
