// Large messages to a far peer: what their sender had time to write anew comes by fragments, whether its
// receive waits already or not; what follows at once is copied by both sides, where fragments do not flow.
#include <chrono>
#include <thread>

#include "rndv/rewriting.hpp"
#include "tests/tag/shm_pair.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

/// Set before contexts are opened.
struct Far {
  explicit Far(const char* flows) : flows_("STRIA_RNDV_FLOWS", flows) {}
  Variable distance_{"STRIA_SHM_DISTANCE", "far"}, share_{"STRIA_RNDV_SHARE", "on"};
  Variable flows_;
};

class NewBytes : Far, public ShmPair {
 protected:
  explicit NewBytes(const char* flows = "off") : Far(flows) {}
  // More than all of the time that is not over counts for: what follows at once cannot be new.
  static constexpr std::size_t kBytes = rndv::Rewriting::kMost + 4096;

  stria_counters_t counters() {
    stria_counters_t out{};
    out.size = sizeof(out);
    EXPECT_EQ(stria_worker_counters(team_.worker(1), &out), STRIA_OK);
    return out;
  }
  /// Which of the receiver's counters one message raises.
  std::string way(std::vector<unsigned char>& room, bool is_expected) {
    const stria_counters_t before = counters();
    Op send_op, recv_op;
    if (is_expected) {
      EXPECT_GE(recv(recv_op, room), 0);
    }
    EXPECT_GE(send(send_op, data_), 0);
    if (!is_expected) {
      team_.progress(1, 20);  // its announcement is there
      EXPECT_GE(recv(recv_op, room), 0);
    }
    for (int i = 0; i < 1000000 && !(send_op.ended() && recv_op.ended()); ++i) {
      team_.progress(0, 1);
      team_.progress(1, 1);
    }
    const stria_counters_t after = counters();
    if (after.received_pipeline != before.received_pipeline) return "fragments";
    return after.received_both != before.received_both ? "both" : "another";
  }

  std::vector<unsigned char> data_ = std::vector<unsigned char>(kBytes, 0x5a);
};

TEST_F(NewBytes, come_by_fragments_and_those_that_follow_at_once_by_both) {
  for (const bool is_expected : {true, false}) {
    std::vector<unsigned char> first(kBytes, 0), second(kBytes, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_EQ(way(first, is_expected), "fragments") << is_expected;
    EXPECT_EQ(way(second, is_expected), "both") << is_expected;
    EXPECT_TRUE(first == data_ && second == data_) << is_expected;
  }
}

class NewBytesThatFlow : public NewBytes {
 protected:
  NewBytesThatFlow() : NewBytes("on") {}
};

TEST_F(NewBytesThatFlow, and_those_that_follow_come_by_fragments) {
  for (const bool is_expected : {true, false})
    for (int i = 0; i < 4; ++i) {
      std::vector<unsigned char> room(kBytes, 0);
      EXPECT_EQ(way(room, is_expected), "fragments") << i << is_expected;
      EXPECT_TRUE(room == data_) << i << is_expected;
    }
}

}  // namespace
}  // namespace stria::test
