// Messages longer than an ordinary buffer go without being asked for while one of the few long buffers is
// free, and are announced when none is.
#include <algorithm>
#include <deque>

#include "tests/tag/shm_team.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

class LongEager : public testing::Test {
 protected:
  LongEager() {
    team_.join({});
    team_.join({});
    to_ = team_.endpoint(0, 1);
    from_ = team_.endpoint(1, 0);
    // The first message may send no more than the first grant.
    for (int i = 0; i < 40; ++i) {
      Op sending, receiving;
      std::vector<unsigned char> room(4000);
      send(sending, 4000, nullptr);
      recv(receiving, room);
      both_until([&] { return ended(sending) && ended(receiving); });
    }
  }
  static unsigned char byte_of(std::size_t i) { return static_cast<unsigned char>(i * 13 + (i >> 8)); }
  static bool ended(Op& op) { return op.answer == STRIA_OK || op.ended(); }

  void send(Op& op, std::size_t count, stria_layout_t* layout, std::size_t bytes = 0) {
    auto& data = sent_.emplace_back(bytes == 0 ? count : bytes);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = byte_of(i);
    stria_send_t send{};
    send.base = data.data();
    send.layout = layout;
    send.count = count;
    send.tag = 7;
    send.callback = &Op::on_done;
    send.user = &op;
    op.answer = stria_send(to_, &send, &op.request);
    ASSERT_GE(op.answer, 0);
  }
  void recv(Op& op, std::vector<unsigned char>& room) {
    stria_recv_t recv{};
    recv.base = room.data();
    recv.count = room.size();
    recv.match = {from_, 7, 0};
    recv.callback = &Op::on_done;
    recv.user = &op;
    op.answer = stria_recv(team_.worker(1), &recv, &op.request);
    ASSERT_GE(op.answer, 0);
  }
  template <class Done>
  void both_until(Done done) {
    for (int i = 0; i < 100000 && !done(); ++i) team_.progress(0, 1), team_.progress(1, 1);
    ASSERT_TRUE(done());
  }
  /// Sends one that nobody receives yet: whether it was gone at once.
  bool goes_at_once(std::size_t bytes, stria_layout_t* layout = nullptr, std::size_t instances = 0) {
    Op sending, receiving;
    send(sending, layout == nullptr ? bytes : instances, layout, 2 * bytes);
    const bool gone = sending.answer == STRIA_OK;
    std::vector<unsigned char> room(bytes);
    recv(receiving, room);
    both_until([&] { return ended(sending) && ended(receiving); });
    if (layout == nullptr) {
      for (std::size_t i = 0; i < bytes; ++i) EXPECT_EQ(room[i], byte_of(i)) << i;
    }
    return gone;
  }

  ShmTeam team_;
  stria_endpoint_t* to_ = nullptr;
  stria_endpoint_t* from_ = nullptr;
  std::deque<std::vector<unsigned char>> sent_;
};

TEST_F(LongEager, goes_at_once_up_to_the_long_buffer_and_not_beyond) {
  for (const std::size_t bytes : {32768u, 32769u, 65536u, 131071u, 131072u})
    EXPECT_TRUE(goes_at_once(bytes)) << bytes;
  for (const std::size_t bytes : {131073u, 200000u}) EXPECT_FALSE(goes_at_once(bytes)) << bytes;
}

TEST_F(LongEager, is_announced_where_many_short_blocks_are_packed) {
  stria_layout_t* byte = nullptr;
  ASSERT_EQ(stria_layout_bytes(1, &byte), STRIA_OK);
  const auto goes = [&](std::int64_t rows, std::int64_t bytes) {  // every other row
    stria_layout_t* layout = nullptr;
    EXPECT_EQ(stria_layout_vector(rows, bytes, 2 * bytes, byte, &layout), STRIA_OK);
    const bool gone = goes_at_once(static_cast<std::size_t>(rows * bytes), layout, 1);
    stria_layout_free(layout);
    return gone;
  };
  EXPECT_TRUE(goes(64, 512));
  EXPECT_FALSE(goes(65, 512));
  EXPECT_TRUE(goes(128, 1024)) << "blocks that are copied by pieces";
  EXPECT_FALSE(goes(129, 1024));
  stria_layout_free(byte);
}

TEST_F(LongEager, does_not_wait_for_a_long_buffer_and_keeps_the_order) {
  constexpr std::size_t kMessages = 40, kBytes = 50000;
  std::deque<Op> sending(kMessages), receiving(kMessages);
  std::size_t gone = 0;
  for (std::size_t i = 0; i < kMessages; ++i) {
    send(sending[i], kBytes + i, nullptr);
    gone += sending[i].answer == STRIA_OK ? 1 : 0;
  }
  EXPECT_GT(gone, 4u);
  EXPECT_LT(gone, 17u) << "there are 16 long buffers";
  std::deque<std::vector<unsigned char>> rooms;
  for (std::size_t i = 0; i < kMessages; ++i) recv(receiving[i], rooms.emplace_back(kBytes + kMessages));
  both_until([&] {
    return std::all_of(sending.begin(), sending.end(), ended) &&
           std::all_of(receiving.begin(), receiving.end(), [](Op& op) { return op.ended(); });
  });
  for (std::size_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(receiving[i].info.length, kBytes + i) << "out of order";
    for (std::size_t at = 0; at < kBytes + i; ++at) ASSERT_EQ(rooms[i][at], byte_of(at)) << i;
  }
}

}  // namespace
}  // namespace stria::test
