// A receive in pieces that ended with an error while a rail was still placing bytes of it.
#include "tests/rndv/rail_gets_rig.hpp"

namespace stria::rndv {
namespace {

class HeldReceive : public RailGetsRig {};

TEST_F(HeldReceive, ends_when_the_rail_that_places_dies) {
  Announcement announcement;
  announcement.length = kLength;
  announcement.sender_op = 0x500000007;
  RecvOp& op = prepare(receives_, room_);
  engine_.accept(op, announcement);
  const auto asked = take_sent(wire::Kind::rtr);
  const auto by_rail =
      std::find_if(asked.begin(), asked.end(), [](const Sent& one) { return one.link == 1; });
  ASSERT_NE(by_rail, asked.end());
  wire::RtrBody piece;
  std::memcpy(&piece, by_rail->payload.data(), sizeof piece);
  transport::Payload memory{};
  const auto header = wire::make_fragment(op.id, piece.offset);
  ASSERT_TRUE(engine_.place(links_[0], {header, 4096, 1, &links_[1]}, memory));
  EXPECT_FALSE(deliver(wire::make_fragment(op.id, piece.offset), source_.data(), 100, 0))
      << "by the main link, which was not asked for it";
  EXPECT_EQ(ends_, 0u) << "the rail may still write";
  engine_.fail_rail(links_[0], links_[1]);
  engine_.end_placing(links_[0], 1);
  rounds(10);
  EXPECT_EQ(ends_, 1u);
  EXPECT_EQ(op.outcome, Status::io_error);
  EXPECT_EQ(take_sent(wire::Kind::fin).size(), 1u) << "the sender is told";
}

}  // namespace
}  // namespace stria::rndv
