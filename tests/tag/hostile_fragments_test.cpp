// Fragments that do not fit their message, or come twice: they end that message with an error, and nothing
// else.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "tests/tag/hostile_peer.hpp"

namespace stria::test {
namespace {

/// Announces messages, and answers their receiver with fragments of its own making.
class HostileFragments : public HostilePeer {
 protected:
  static constexpr std::uint64_t kLength = 40000, kOp = 77;

  /// Announces one that the worker receives; what the worker asks for.
  wire::RtrBody announce(Op& op) {
    stria_recv_t recv{};
    recv.base = memory_;
    recv.count = kLength;
    recv.match = {endpoint_, 7, 0};
    recv.callback = &Op::on_done;
    recv.user = &op;
    op.answer = stria_recv(world_.worker(0), &recv, &op.request);
    EXPECT_EQ(op.answer, STRIA_IN_PROGRESS);
    const wire::RtsBody rts{kLength, kOp, 0, 0, 0, 0, 0};
    contract::Bytes body(sizeof rts);
    std::memcpy(body.data(), &rts, sizeof rts);
    stria_header_t header = wire::make_header(wire::Kind::rts, 7);
    header.sequence = sequence_++;
    raw_->received.clear();
    packet(header, body);
    wire::RtrBody rtr{};
    const contract::Received* asked = await(wire::Kind::rtr);
    if (asked != nullptr)
      std::memcpy(&rtr, asked->payload.data(), std::min(asked->payload.size(), sizeof rtr));
    return rtr;
  }
  /// A packet of this kind that the worker sent; null: none came.
  const contract::Received* await(wire::Kind kind) {
    for (int i = 0; i < 1000; ++i) {
      for (const contract::Received& one : raw_->received)
        if (one.header.kind == static_cast<std::uint8_t>(kind)) return &one;
      progress();
    }
    ADD_FAILURE() << "no packet of kind " << static_cast<int>(kind);
    return nullptr;
  }
  void fragment(std::uint64_t op, std::uint64_t place, std::uint64_t bytes) {
    packet(wire::make_fragment(op, place), contract::Bytes(bytes, std::byte{0x5a}));
  }

  std::byte memory_[kLength] = {};
  std::uint16_t sequence_ = 0;
};

TEST_F(HostileFragments, that_do_not_fit_end_their_message_and_nothing_else) {
  const std::array<std::uint64_t, 2> kBad[] = {
      {0, 10000}, {9999, 2}, {kLength, 1}, {kLength - 1, 2}, {wire::kPutting, 1}, {20000, 0}, {10000, 12000}};
  testing::internal::CaptureStderr();
  for (const auto& [place, bytes] : kBad) {
    SCOPED_TRACE(testing::Message() << bytes << " bytes at " << place);
    Op op;
    const wire::RtrBody asked = announce(op);
    EXPECT_EQ(asked.length, kLength);
    fragment(asked.receiver_op, 0, 10000);
    fragment(asked.receiver_op, 20000, 10000);
    ASSERT_EQ(op.callbacks, 0);
    raw_->received.clear();
    fragment(asked.receiver_op, place, bytes);
    EXPECT_EQ(op.callbacks, 1);
    EXPECT_EQ(op.info.status, STRIA_ERR_IO);
    const contract::Received* fin = await(wire::Kind::fin);
    ASSERT_NE(fin, nullptr) << "its sender hears of it";
    EXPECT_EQ(fin->header.tag, kOp);
    EXPECT_EQ(static_cast<std::int32_t>(fin->header.immediate), STRIA_ERR_IO);
    fragment(asked.receiver_op, 10000, 10000);  // late
    EXPECT_EQ(op.callbacks, 1);
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("does not fit its receive"), std::string::npos);
  Op op;
  const wire::RtrBody asked = announce(op);
  for (const std::uint64_t place : {30000u, 0u, 20000u, 10000u}) fragment(asked.receiver_op, place, 10000);
  EXPECT_EQ(op.callbacks, 1);
  EXPECT_EQ(op.info.status, STRIA_OK) << "what it says right is still heard";
  for (const std::byte byte : memory_) ASSERT_EQ(byte, std::byte{0x5a});
}

TEST_F(HostileFragments, of_random_places_never_complete_a_receive_with_a_hole) {
  const unsigned seed = 4711;
  std::mt19937 random(seed);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  testing::internal::CaptureStderr();
  int completed = 0;
  for (int round = 0; round < 2000; ++round) {
    std::fill(std::begin(memory_), std::end(memory_), std::byte{0});
    Op op;
    const wire::RtrBody asked = announce(op);
    // A good order, in which one of four messages has a fault.
    std::vector<std::uint64_t> places = {0, 8000, 16000, 24000, 32000};
    std::shuffle(places.begin(), places.end(), random);
    if (random() % 4 == 0)
      places[random() % 5] = 8000 * (random() % 6) - (random() % 2 != 0 ? 0 : random() % 9);
    for (const std::uint64_t place : places) fragment(asked.receiver_op, place, 8000);
    if (op.callbacks == 0) {
      fragment(asked.receiver_op, kLength, 1);
      EXPECT_NE(op.info.status, STRIA_OK);
    }
    ASSERT_EQ(op.callbacks, 1);
    if (op.info.status != STRIA_OK) continue;
    ++completed;
    for (const std::byte byte : memory_) ASSERT_EQ(byte, std::byte{0x5a});
  }
  testing::internal::GetCapturedStderr();
  EXPECT_GT(completed, 1000);
  EXPECT_LT(completed, 2000);
}

}  // namespace
}  // namespace stria::test
