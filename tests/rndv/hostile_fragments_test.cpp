// The engine against a peer whose fragments are wrong: of no bytes, beyond the end, sent twice, full of gaps,
// or named after no receive. A receive takes its fragments in any order; a receive that cannot be whole ends
// with an error.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/rndv/hostile_rig.hpp"

namespace stria::rndv {
namespace {

using HostileFragments = Hostile;

TEST_F(HostileFragments, fragments_of_no_bytes_are_refused) {
  SendOp op;
  const wire::OpId id = announce(op);
  rtr(0, id, {7, 0, kLength, 0, 0, 0, {}});
  EXPECT_EQ(sent_ends_, 1);
  EXPECT_EQ(op.outcome, Status::invalid);
}

TEST_F(HostileFragments, a_fragment_that_does_not_fit_ends_the_receive_and_tells_its_sender) {
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

TEST_F(HostileFragments, fragments_are_taken_in_every_order_and_any_length) {
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

TEST_F(HostileFragments, a_peer_that_leaves_gap_after_gap_ends_its_receive) {
  std::vector<std::byte> large(4 * Reassembly::kMaxRanges);
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
  for (std::uint64_t i = 0; i < Reassembly::kMaxRanges; ++i)
    ASSERT_TRUE(frag(0, rtr.receiver_op, 2 * i + 1, 1));
  EXPECT_EQ(received_ends_, 0);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(frag(0, rtr.receiver_op, large.size() - 1, 1));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("gaps"), std::string::npos);
  EXPECT_EQ(received_ends_, 1);
  EXPECT_EQ(op.outcome, Status::io_error);
  EXPECT_TRUE(engine_.idle());
}

TEST_F(HostileFragments, a_sender_that_streams_ends_when_its_receiver_refuses_the_fragments) {
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

TEST_F(HostileFragments, fragments_that_name_no_receive_of_their_link_are_dropped) {
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

}  // namespace
}  // namespace stria::rndv
