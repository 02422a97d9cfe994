// Peers that were sent something and do not look any more hold the sender's buffers. What goes to others gets
// through all the same.
#include <algorithm>
#include <deque>

#include "tests/tag/shm_pair.hpp"

namespace stria::test {
namespace {

constexpr std::uint64_t kTag = 7;

/// Rank 0 sends, to some ranks that stand still, and to the last one, which does not.
struct Crowd {
  unsigned standing;
  const char *cells, *long_cells, *windows;
};

class StandingStill : public testing::TestWithParam<Crowd> {
 protected:
  StandingStill() {
    for (unsigned i = 0; i < GetParam().standing + 2; ++i) {
      team_.join({{{"STRIA_SHM_CMA", "off"}},
                  {{"STRIA_SHM_DISTANCE", "near"}},
                  {{"STRIA_SHM_CELLS", GetParam().cells}},
                  {{"STRIA_SHM_LONG_CELLS", GetParam().long_cells}},
                  {{"STRIA_SHM_WINDOWS", GetParam().windows}}});
    }
    last_ = GetParam().standing + 1;
  }
  Op& send(unsigned to, const std::vector<unsigned char>& data, unsigned from = 0) {
    stria_send_t send{};
    Op& op = ops_.emplace_back();
    send.base = data.data();
    send.count = data.size();
    send.tag = kTag;
    send.callback = &Op::on_done;
    send.user = &op;
    op.answer = stria_send(team_.endpoint(from, to), &send, &op.request);
    EXPECT_GE(op.answer, STRIA_OK);
    return op;
  }
  Op& recv(unsigned at, std::vector<unsigned char>& room) {
    stria_recv_t recv{};
    Op& op = ops_.emplace_back();
    recv.base = room.data();
    recv.count = room.size();
    recv.match = {nullptr, kTag, 0};
    recv.callback = &Op::on_done;
    recv.user = &op;
    recv.info = &op.info;
    op.answer = stria_recv(team_.worker(at), &recv, &op.request);
    EXPECT_GE(op.answer, STRIA_OK);
    return op;
  }
  bool until_over(Op& op) {
    for (int i = 0; i < 200000 && !op.ended(); ++i) team_.progress(0, 1), team_.progress(last_, 1);
    return op.ended();
  }
  /// The others look again, and everything ends.
  void go_on() {
    const auto all_over = [this] {
      return std::all_of(ops_.begin(), ops_.end(), [](Op& op) { return op.ended(); });
    };
    for (int i = 0; i < 200000 && !all_over(); ++i)
      for (unsigned rank = 0; rank <= last_; ++rank) team_.progress(rank, 1);
    EXPECT_TRUE(all_over());
  }
  static std::vector<unsigned char> bytes_of(std::size_t bytes) {
    std::vector<unsigned char> out(bytes);
    for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<unsigned char>(i * 13 + (i >> 8));
    return out;
  }

  ShmTeam team_;
  unsigned last_ = 0;
  std::deque<Op> ops_;
};

TEST_P(StandingStill, fragments_of_a_long_message_come_to_who_looks) {
  const auto data = bytes_of((8u << 20) + 5);
  std::deque<std::vector<unsigned char>> rooms;
  for (unsigned to = 1; to < last_; ++to) {
    send(to, data);
    recv(to, rooms.emplace_back(data.size()));
    // It asks for its fragments, and does not look any more.
    for (int i = 0; i < 400; ++i) team_.progress(0, 1), team_.progress(to, i < 4 ? 1 : 0);
  }
  send(last_, data);
  Op& receiving = recv(last_, rooms.emplace_back(data.size()));
  EXPECT_TRUE(until_over(receiving)) << "it waits for ranks that have nothing to do with it";
  EXPECT_EQ(rooms.back() == data, true);
  go_on();
  for (const auto& room : rooms) EXPECT_EQ(room == data, true);
}

TEST_P(StandingStill, buffered_messages_come_in_order_to_who_looks) {
  const auto data = bytes_of(16384), word = bytes_of(8);
  std::deque<std::vector<unsigned char>> rooms;
  constexpr int kEach = 20;
  for (unsigned to = 1; to < last_; ++to) {
    Op& first = send(to, word);  // it is connected, and granted credit
    recv(to, rooms.emplace_back(word));
    for (int i = 0; i < 100 && first.callbacks == 0; ++i) team_.progress(0, 1), team_.progress(to, 1);
    for (int i = 0; i < kEach; ++i) send(to, data);
  }
  for (int i = 0; i < 3; ++i) {
    send(last_, data);
    send(last_, word);
  }
  for (int i = 0; i < 6; ++i) {
    Op& op = recv(last_, rooms.emplace_back(data.size()));
    ASSERT_TRUE(until_over(op)) << "message " << i << " waits for ranks that have nothing to do with it";
    ASSERT_EQ(op.info.length, i % 2 == 0 ? data.size() : word.size());
    EXPECT_EQ(std::equal(word.begin(), word.end(), rooms.back().begin()), true);
  }
  for (unsigned at = 1; at < last_; ++at)
    for (int i = 0; i < kEach; ++i) recv(at, rooms.emplace_back(data.size()));
  go_on();
  for (int i = 0; i < kEach; ++i) EXPECT_EQ(rooms[rooms.size() - 1 - i] == data, true);
}

TEST_P(StandingStill, a_long_message_comes_from_who_looks) {
  const auto data = bytes_of((1u << 20) + 5), word = bytes_of(100);
  std::deque<std::vector<unsigned char>> rooms;
  constexpr int kEach = 20;
  for (unsigned to = 1; to < last_; ++to) {
    Op& first = send(to, word);
    recv(to, rooms.emplace_back(word));
    for (int i = 0; i < 100 && first.callbacks == 0; ++i) team_.progress(0, 1), team_.progress(to, 1);
    for (int i = 0; i < kEach; ++i) send(to, word);
  }
  Op& receiving = recv(0, rooms.emplace_back(data.size()));
  Op& sending = send(0, data, last_);
  EXPECT_TRUE(until_over(receiving)) << "what asks for it waits for ranks that have nothing to do with it";
  EXPECT_TRUE(until_over(sending));
  EXPECT_EQ(receiving.info.status, STRIA_OK);
  EXPECT_EQ(rooms.back() == data, true);
  for (unsigned at = 1; at < last_; ++at)
    for (int i = 0; i < kEach; ++i) recv(at, rooms.emplace_back(word.size()));
  go_on();
}

INSTANTIATE_TEST_SUITE_P(Crowds, StandingStill,
                         testing::Values(Crowd{2, "128", "16", "32"}, Crowd{6, "8", "2", "32"},
                                         Crowd{6, "8", "0", "32"}, Crowd{6, "8", "0", "0"}),
                         [](const auto& crowd) {
                           return std::to_string(crowd.param.standing) + "_of_" + crowd.param.cells +
                                  "_and_" + crowd.param.long_cells + "_through_" + crowd.param.windows;
                         });

}  // namespace
}  // namespace stria::test
