// Eager messages that a provider writes straight into the memory of their receives: the receive is matched
// when the header comes, its memory is the provider's until the payload is there, and whatever happens
// meanwhile it ends once.
#include <algorithm>

#include "tests/tag/random_world.hpp"

namespace stria::test {
namespace {

constexpr std::size_t kBytes = 9000;
constexpr unsigned char kUntouched = 0xa5;

/// Two workers; what the second gets from the first is placed, in several steps.
struct Placed : testing::Test {
  static fake::FabricOptions options() {
    fake::FabricOptions made;
    made.seed = 7;
    made.delay = 50;
    made.keeps = false;
    made.places_percent = 100;
    return made;
  }
  void warm_up() {
    Op first_send, first_recv;
    char byte = 1, here = 0;
    world.recv(first_recv, 1, 0, 99, 0, &here, 1);
    world.send(first_send, 0, 1, 99, &byte, 1);
    ASSERT_TRUE(world.run_until([&] { return first_recv.ended() && first_send.ended(); }));
  }
  std::uint64_t placed() { return fake::statistics(world.fabric()).placed; }
  /// Posts the receive and sends its message, up to the moment at which a part of it may be in its place.
  void begin() {
    warm_up();
    ASSERT_EQ(world.recv(recv, 1, 0, 5, 0, room.data(), room.size()), STRIA_IN_PROGRESS);
    world.send(send, 0, 1, 5, data.data(), data.size());
    ASSERT_TRUE(world.run_until([&] { return placed() == 1; }));
    ASSERT_FALSE(recv.ended());
  }
  World world{2, options()};
  const std::vector<unsigned char> data = pattern(kBytes, 1);
  std::vector<unsigned char> room = std::vector<unsigned char>(kBytes, kUntouched);
  Op send, recv;
};

TEST_F(Placed, message_is_right_and_its_outcome_tells_what_it_was) {
  begin();
  ASSERT_TRUE(world.run_until([&] { return recv.ended(); }));
  EXPECT_EQ(room, data);
  EXPECT_EQ(recv.info.status, STRIA_OK);
  EXPECT_EQ(recv.info.tag, 5u);
  EXPECT_EQ(recv.info.length, kBytes);
  EXPECT_EQ(recv.info.received, kBytes);
  EXPECT_EQ(recv.info.source, stria_worker_id(world.worker(0)));
  EXPECT_EQ(counters(world, 1).received_eager, 2u) << "this one, and the first message of the test";
}

TEST_F(Placed, message_has_its_receive_which_is_not_cancelled) {
  begin();
  EXPECT_NE(stria_request_cancel(world.worker(1), &recv.request), STRIA_OK);
  ASSERT_TRUE(world.run_until([&] { return recv.ended(); }));
  EXPECT_EQ(recv.info.status, STRIA_OK);
  EXPECT_EQ(room, data);
}

TEST_F(Placed, message_may_be_shorter_than_its_receive) {
  room.assign(kBytes + 100, kUntouched);
  begin();
  ASSERT_TRUE(world.run_until([&] { return recv.ended(); }));
  EXPECT_EQ(recv.info.received, kBytes);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), room.begin()));
  EXPECT_EQ(std::count(room.begin() + kBytes, room.end(), kUntouched), 100);
}

TEST_F(Placed, message_that_is_too_long_is_truncated_instead) {
  warm_up();
  room.assign(kBytes, kUntouched);
  world.recv(recv, 1, 0, 5, 0, room.data(), kBytes - 1000);
  world.send(send, 0, 1, 5, data.data(), data.size());
  ASSERT_TRUE(world.run_until([&] { return recv.ended(); }));
  EXPECT_EQ(placed(), 0u);
  EXPECT_EQ(recv.info.status, STRIA_ERR_TRUNCATED);
  EXPECT_EQ(recv.info.length, kBytes);
  EXPECT_EQ(recv.info.received, kBytes - 1000);
  EXPECT_TRUE(std::equal(room.begin(), room.end() - 1000, data.begin()));
  EXPECT_EQ(std::count(room.end() - 1000, room.end(), kUntouched), 1000);
}

TEST_F(Placed, messages_of_one_tag_go_to_its_receives_in_their_order) {
  constexpr unsigned kMany = 40;
  warm_up();
  std::vector<Op> sends(kMany), recvs(kMany);
  std::vector<std::vector<unsigned char>> sent, rooms(kMany);
  for (unsigned i = 0; i < kMany; ++i) {
    sent.push_back(pattern(i % 3 == 0 ? 40 + i : 3000 + 100 * i, i));
    rooms[i].resize(8000);
    world.recv(recvs[i], 1, i % 2 == 0 ? 0 : World::kAny, 5, 0, rooms[i].data(), rooms[i].size());
  }
  for (unsigned i = 0; i < kMany; ++i) world.send(sends[i], 0, 1, 5, sent[i].data(), sent[i].size());
  const auto ended = [](std::vector<Op>& all) {
    return std::all_of(all.begin(), all.end(), [](Op& one) { return one.ended(); });
  };
  ASSERT_TRUE(world.run_until([&] { return ended(recvs) && ended(sends); }));
  EXPECT_GT(placed(), 0u);
  for (unsigned i = 0; i < kMany; ++i) {
    EXPECT_EQ(recvs[i].info.received, sent[i].size()) << i;
    EXPECT_TRUE(std::equal(sent[i].begin(), sent[i].end(), rooms[i].begin())) << i;
  }
}

TEST_F(Placed, message_goes_into_a_layout) {
  constexpr std::int64_t kBlocks = 1000;
  warm_up();
  constexpr std::int64_t kSize = sizeof(double);
  stria_layout_t *number = nullptr, *column = nullptr;
  ASSERT_EQ(stria_layout_bytes(kSize, &number), STRIA_OK);
  ASSERT_EQ(stria_layout_vector(kBlocks, 1, 3 * kSize, number, &column), STRIA_OK);
  std::vector<double> matrix(3 * kBlocks, -1.0), values(kBlocks);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  world.recv(recv, 1, 0, 5, 0, matrix.data(), 1, column);
  world.send(send, 0, 1, 5, values.data(), kBlocks * sizeof(double));
  ASSERT_TRUE(world.run_until([&] { return recv.ended(); }));
  EXPECT_EQ(placed(), 1u);
  for (std::size_t i = 0; i < matrix.size(); ++i)
    EXPECT_EQ(matrix[i], i % 3 == 0 && i / 3 < values.size() ? values[i / 3] : -1.0) << i;
  stria_layout_free(column);
  stria_layout_free(number);
}

TEST_F(Placed, receive_ends_with_its_sender_and_its_memory_is_let_alone_then) {
  begin();
  world.kill(0, fake::Loss::random);
  ASSERT_TRUE(world.run_until([&] { return recv.ended(); }));
  if (recv.info.status == STRIA_OK) {
    EXPECT_EQ(room, data);
  } else {
    EXPECT_EQ(recv.info.status, STRIA_ERR_PEER_FAILED);
  }
  room.assign(kBytes, kUntouched);
  for (int i = 0; i < 1000; ++i) world.step();
  EXPECT_EQ(std::count(room.begin(), room.end(), kUntouched), static_cast<std::ptrdiff_t>(kBytes));
  EXPECT_EQ(recv.callbacks, 1);
}

TEST_F(Placed, receive_ends_with_its_worker) {
  begin();
  world.close(1);
  EXPECT_TRUE(recv.ended());
  EXPECT_EQ(recv.callbacks, 1);
  EXPECT_EQ(recv.info.status, STRIA_ERR_CANCELLED);
}

}  // namespace
}  // namespace stria::test
