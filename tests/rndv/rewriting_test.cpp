// Who had time to write what it sends, on a clock of the test's own.
#include "rndv/rewriting.hpp"

#include <gtest/gtest.h>

namespace stria::rndv {
namespace {

using std::chrono::microseconds;

constexpr std::uint64_t kMiB = 1u << 20;
constexpr microseconds kWrites{kMiB / Rewriting::kBytesPerNs / 1000 + 1};  // 1 MiB

class RewritingTest : public ::testing::Test {
 protected:
  /// One that has used up all time before its first message.
  RewritingTest() {
    while (may_be_new(kMiB)) ++first_;
  }
  bool may_be_new(std::uint64_t bytes) { return rewriting_.may_be_new(bytes, now_); }

  Rewriting rewriting_;
  Rewriting::Clock::time_point now_ = Rewriting::Clock::now();
  std::uint64_t first_ = 0;
};

TEST_F(RewritingTest, the_first_messages_are_new_as_far_as_caches_hold_them) {
  EXPECT_EQ(first_, Rewriting::kMost / kMiB);
}

TEST_F(RewritingTest, who_was_away_for_less_than_writing_takes_sends_the_same_bytes) {
  now_ += kWrites / 2;
  EXPECT_FALSE(may_be_new(kMiB));
  now_ += kWrites / 2;
  EXPECT_FALSE(may_be_new(kMiB)) << "it was in the library meanwhile";
  now_ += kWrites;
  EXPECT_TRUE(may_be_new(kMiB));
  EXPECT_FALSE(may_be_new(kMiB));
}

TEST_F(RewritingTest, the_end_of_a_message_begins_the_time_anew) {
  now_ += kWrites;
  rewriting_.seen(now_);
  EXPECT_FALSE(may_be_new(kMiB));
}

TEST_F(RewritingTest, messages_that_follow_each_other_share_the_time_before_the_first) {
  now_ += 3 * kWrites;
  for (int message = 0; message < 3; ++message) {
    EXPECT_TRUE(may_be_new(kMiB)) << message;
    now_ += kWrites / 100;
    rewriting_.seen(now_);
  }
  EXPECT_FALSE(may_be_new(kMiB));
}

TEST_F(RewritingTest, a_message_longer_than_caches_may_be_new) {
  EXPECT_FALSE(may_be_new(~std::uint64_t{0}));
  now_ += 40 * kWrites;
  EXPECT_TRUE(may_be_new(~std::uint64_t{0}));
}

TEST_F(RewritingTest, a_clock_that_stands_still_or_goes_back_says_no) {
  now_ -= kWrites * 1000;
  EXPECT_FALSE(may_be_new(kMiB));
}

}  // namespace
}  // namespace stria::rndv
