// A round of progress that ended the last receive leaves what comes next where it lies: its receive may be
// there at the next call, and until then nobody copies it.
#include "tests/tag/shm_pair.hpp"

namespace stria::test {
namespace {

class LeaveTest : public ShmPair, public testing::WithParamInterface<std::size_t> {
 protected:
  LeaveTest() {
    Op first, second;
    std::vector<unsigned char> data(GetParam(), 1), room(GetParam());
    send(first, data);  // the window is open before anything is looked at
    recv(second, room);
    until([&] { return first.ended() && second.ended(); });
  }
  template <class F>
  void until(F&& done) {
    for (int i = 0; i < 10000 && !done(); ++i) {
      team_.progress(0, 1);
      team_.progress(1, 1);
    }
    ASSERT_TRUE(done());
  }
  std::uint64_t waiting() {
    stria_counters_t out{};
    out.size = sizeof(out);
    EXPECT_EQ(stria_worker_counters(team_.worker(1), &out), STRIA_OK);
    return out.unexpected_messages;
  }
  std::vector<unsigned char> message(unsigned char seed) {
    std::vector<unsigned char> data(GetParam());
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 13 + seed);
    return data;
  }
};

TEST_P(LeaveTest, what_no_receive_waits_for_when_the_last_one_ended) {
  const auto one = message(1), two = message(2), three = message(3);
  std::vector<unsigned char> first(GetParam()), second(GetParam()), third(GetParam());
  Op sends[3], receives[3];
  send(sends[0], one);
  send(sends[1], two);
  send(sends[2], three);
  recv(receives[0], first);
  for (int i = 0; i < 100 && !receives[0].ended(); ++i) stria_worker_progress(team_.worker(1));
  ASSERT_TRUE(receives[0].ended());
  EXPECT_EQ(waiting(), 0u);
  recv(receives[1], second);
  for (int i = 0; i < 100 && !receives[1].ended(); ++i) stria_worker_progress(team_.worker(1));
  ASSERT_TRUE(receives[1].ended());
  EXPECT_EQ(waiting(), 0u);
  // Who goes on without a receive is sent for all the same.
  until([&] { return waiting() == 1; });
  recv(receives[2], third);
  until([&] { return receives[2].ended() && sends[0].ended() && sends[1].ended() && sends[2].ended(); });
  EXPECT_EQ(first, one);
  EXPECT_EQ(second, two);
  EXPECT_EQ(third, three);
}

INSTANTIATE_TEST_SUITE_P(Sizes, LeaveTest, testing::Values(8, 1024, 8192),
                         [](const auto& size) { return "Bytes" + std::to_string(size.param); });

}  // namespace
}  // namespace stria::test
