// Bounded unexpected memory: a sender that runs ahead is turned to rendezvous, headers always drain, and
// everything is delivered in whatever order the receiver asks.
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

void keeps_unexpected_payload_within_the_budget(unsigned messages, std::size_t bytes) {
  SCOPED_TRACE(testing::Message() << messages << " messages of " << bytes << " bytes");
  World world(2, quick(), {{{"STRIA_UNEXPECTED_BUDGET", "1M"}}});
  std::vector<char> data(bytes);
  std::vector<Op> sends(messages), recvs(messages);
  for (unsigned i = 0; i < messages; ++i) {
    ASSERT_GE(world.send(sends[i], 0, 1, i, data.data(), data.size(), i), 0);
    if (i % 32 == 0) world.step();
  }
  ASSERT_TRUE(world.run_until([&] { return counters(world, 1).unexpected_messages == messages; }))
      << "headers must drain: " << counters(world, 1).unexpected_messages;
  EXPECT_LE(counters(world, 1).unexpected_bytes_max, 1u << 20);
  EXPECT_GE(counters(world, 1).unexpected_bytes_max, 3u << 18) << "the budget is used";
  EXPECT_GT(counters(world, 0).sent_rendezvous, messages / 8);
  std::vector<std::vector<char>> rooms(messages, std::vector<char>(bytes, 1));
  for (unsigned i = messages; i-- > 0;)
    ASSERT_GE(world.recv(recvs[i], 1, 0, i, 0, rooms[i].data(), bytes), 0);
  ASSERT_TRUE(world.run_until([&] {
    for (unsigned i = 0; i < messages; ++i)
      if (!recvs[i].ended() || !sends[i].ended()) return false;
    return true;
  }));
  for (unsigned i = 0; i < messages; ++i) {
    ASSERT_EQ(recvs[i].info.status, STRIA_OK);
    ASSERT_EQ(recvs[i].info.immediate, i);
    ASSERT_EQ(rooms[i], data);
  }
  EXPECT_EQ(counters(world, 1).unexpected_bytes, 0u);
}

TEST(Credit, keeps_unexpected_payload_within_the_budget) {
  keeps_unexpected_payload_within_the_budget(8000, 1024);  // eight times the budget
}

TEST(Credit, keeps_payload_that_its_buffers_fit_badly_within_the_budget) {
  keeps_unexpected_payload_within_the_budget(40000, 17);
  keeps_unexpected_payload_within_the_budget(8000, 1032);
  keeps_unexpected_payload_within_the_budget(8000, 1100);
}

TEST(Credit, comes_back_when_messages_are_received) {
  World world(2, quick(), {{{"STRIA_UNEXPECTED_BUDGET", "1M"}}});
  std::vector<char> data(1000), room(1000);
  // Ten times the budget, received as it comes: after the first grant nothing needs a rendezvous.
  for (unsigned i = 0; i < 10000; ++i) {
    Op send, recv;
    world.recv(recv, 1, 0, 5, 0, room.data(), room.size());
    world.send(send, 0, 1, 5, data.data(), data.size());
    ASSERT_TRUE(world.run_until([&] { return recv.ended() && send.ended(); }));
  }
  EXPECT_EQ(counters(world, 0).sent_rendezvous, 0u);
}

}  // namespace
}  // namespace stria::test
