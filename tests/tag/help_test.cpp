// A receiver whose sender is silent reads the message itself, from its end; a sender that comes back shares
// what remains.
#include <algorithm>
#include <chrono>
#include <random>

#include "tests/rounds.hpp"
#include "tests/tag/random_world.hpp"
#include "tests/tag/shm_pair.hpp"

namespace stria::test {
namespace {

/// Two workers of this process, driven one by one.
class SilentSender : public ShmPair {
 protected:
  /// Until the receive ended, or for a minute.
  bool receiver_alone(Op& op) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!op.ended() && std::chrono::steady_clock::now() < end) team_.progress(1, 1);
    return op.ended();
  }
  bool sender_alone(Op& op) {
    for (int i = 0; i < 100000 && !op.ended(); ++i) team_.progress(0, 1);
    return op.ended();
  }
};

TEST_F(SilentSender, is_not_waited_for) {
  for (const std::size_t bytes : {262145u, 393217u, 524287u, 524288u, 1000000u, 5000000u}) {
    SCOPED_TRACE(bytes);
    const auto data = pattern(bytes, 1);
    std::vector<unsigned char> room(bytes + 64, 0xee);
    Op send_op, recv_op;
    ASSERT_GE(send(send_op, data), 0);
    ASSERT_FALSE(send_op.ended()) << "too long for the eager way";
    ASSERT_GE(recv(recv_op, room), 0);
    ASSERT_TRUE(receiver_alone(recv_op)) << "the sender was not inside the library";
    EXPECT_EQ(recv_op.info.status, STRIA_OK);
    EXPECT_EQ(recv_op.info.length, bytes);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), room.begin()));
    EXPECT_EQ(std::count(room.begin() + static_cast<std::ptrdiff_t>(bytes), room.end(), 0xee), 64);
    ASSERT_TRUE(sender_alone(send_op)) << "the last message tells it";
    EXPECT_EQ(send_op.info.status, STRIA_OK);
    team_.progress(1);
  }
}

// From column to column the pipeline is faster than loads by one core, but it needs the sender.
TEST_F(SilentSender, is_not_waited_for_where_its_column_is_mapped) {
  constexpr std::int64_t kRows = 3000, kRow = 1024;
  void* matrix = nullptr;
  ASSERT_EQ(stria_mem_alloc(team_.context(0), kRows * kRow, &matrix), STRIA_OK) << stria_last_error();
  stria_layout_t *element = nullptr, *column = nullptr;
  ASSERT_EQ(stria_layout_bytes(8, &element), STRIA_OK);
  ASSERT_EQ(stria_layout_vector(kRows, 1, kRow, element, &column), STRIA_OK);
  const auto data = pattern(kRows * kRow, 5);
  std::copy(data.begin(), data.end(), static_cast<unsigned char*>(matrix));
  std::vector<unsigned char> room(kRows * kRow, 0xee);
  stria_send_t out{};
  out.base = matrix;
  out.layout = column;
  out.count = 1;
  out.tag = 7;
  Op send_op, recv_op;
  out.callback = &Op::on_done;
  out.user = &send_op;
  ASSERT_GE(send_op.answer = stria_send(to_, &out, &send_op.request), 0);
  stria_recv_t in{};
  in.base = room.data();
  in.layout = column;
  in.count = 1;
  in.match = {from_, 7, 0};
  in.callback = &Op::on_done;
  in.user = &recv_op;
  ASSERT_GE(recv_op.answer = stria_recv(team_.worker(1), &in, &recv_op.request), 0);
  ASSERT_TRUE(receiver_alone(recv_op));
  EXPECT_EQ(recv_op.info.status, STRIA_OK);
  for (std::size_t i = 0; i < room.size(); ++i) ASSERT_EQ(room[i], i % kRow < 8 ? data[i] : 0xee) << i;
  ASSERT_TRUE(sender_alone(send_op));
  stria_layout_free(column);
  stria_layout_free(element);
  EXPECT_EQ(stria_mem_free(team_.context(0), matrix), STRIA_OK);
}

TEST_F(SilentSender, may_come_back_at_any_time) {
  const auto seed = static_cast<unsigned>(from_environment("STRIA_TEST_SEED", 20234));
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (std::int64_t round = 0; round < rounds(300); ++round) {
    const std::size_t bytes = 33000 + random() % 2000000;
    const std::size_t shorter = random() % 4 == 0 ? random() % 40000 : 0;  // truncated
    const auto data = pattern(bytes, random());
    std::vector<unsigned char> room(bytes - std::min(shorter, bytes));
    Op send_op, recv_op;
    if (random() % 2 != 0) {
      ASSERT_GE(recv(recv_op, room), 0);
      ASSERT_GE(send(send_op, data), 0);
    } else {
      ASSERT_GE(send(send_op, data), 0);
      ASSERT_GE(recv(recv_op, room), 0);
    }
    for (int step = 0; step < 2000000 && !(recv_op.ended() && send_op.ended()); ++step) {
      const unsigned who = random() % 3 == 0 ? 0 : 1;
      team_.progress(who, 1 + random() % (who == 0 ? 3 : 200));  // 200 polls are longer than patience
    }
    ASSERT_TRUE(recv_op.ended() && send_op.ended()) << "round " << round;
    ASSERT_EQ(recv_op.info.status, shorter != 0 ? STRIA_ERR_TRUNCATED : STRIA_OK);
    ASSERT_EQ(send_op.info.status, STRIA_OK);
    ASSERT_TRUE(std::equal(room.begin(), room.end(), data.begin())) << "round " << round;
  }
}

TEST(Help, is_right_under_every_order_of_late_gets_and_fragments) {
  for (unsigned seed = 1; seed <= rounds(300); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    World world(2, random_fabric(seed, random),
                {{{"STRIA_RNDV_PATIENCE", "0"}}, {{"STRIA_EAGER_LIMIT", "4K"}}});
    std::vector<std::vector<unsigned char>> data, rooms;
    std::vector<Op> sends(6), recvs(6);
    for (std::size_t i = 0; i < sends.size(); ++i) {
      data.push_back(pattern(5000 + random() % 600000, random()));
      rooms.emplace_back(data.back().size());
    }
    for (std::size_t i = 0; i < sends.size(); ++i) {
      ASSERT_GE(world.send(sends[i], 0, 1, i, data[i].data(), data[i].size()), 0);
      ASSERT_GE(world.recv(recvs[i], 1, 0, i, 0, rooms[i].data(), rooms[i].size()), 0);
    }
    ASSERT_TRUE(run_unevenly(world, random, [&] {
      for (std::size_t i = 0; i < sends.size(); ++i)
        if (!sends[i].ended() || !recvs[i].ended()) return false;
      return true;
    }));
    for (std::size_t i = 0; i < sends.size(); ++i) {
      ASSERT_EQ(recvs[i].info.status, STRIA_OK) << i;
      ASSERT_EQ(sends[i].info.status, STRIA_OK) << i;
      ASSERT_EQ(rooms[i], data[i]) << i;
    }
  }
}

TEST(Help, a_sender_that_dies_meanwhile_ends_the_receive) {
  for (unsigned seed = 1; seed <= rounds(200); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    fake::FabricOptions options;
    options.seed = seed;
    options.async_percent = 70;
    options.fragment_overtakes_percent = random() % 101;
    const auto data = pattern(400000, seed);
    std::vector<unsigned char> room(data.size());
    Op send, recv;
    World world(2, options, {{{"STRIA_RNDV_PATIENCE", "0"}}, {{"STRIA_EAGER_LIMIT", "4K"}}});
    ASSERT_GE(world.send(send, 0, 1, 3, data.data(), data.size()), 0);
    ASSERT_GE(world.recv(recv, 1, 0, 3, 0, room.data(), room.size()), 0);
    for (unsigned i = random() % 40; i > 0; --i)
      stria_worker_progress(world.worker(random() % 4 == 0 ? 0 : 1));
    world.kill(0, fake::Loss::random);
    for (unsigned i = 0; i < 100000 && !recv.ended(); ++i) stria_worker_progress(world.worker(1));
    ASSERT_TRUE(recv.ended());
    if (recv.info.status == STRIA_OK)
      EXPECT_EQ(room, data);
    else
      EXPECT_EQ(recv.info.status, STRIA_ERR_PEER_FAILED);
  }
}

}  // namespace
}  // namespace stria::test
