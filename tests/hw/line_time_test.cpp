// time_lines() leaves out the time that the clock itself takes.
#include "hw/line_time.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>

namespace stria::hw {
namespace {

/// A clock that goes on by its own reads alone, each of which takes as long as a system call.
struct SlowClock {
  using time_point = std::chrono::steady_clock::time_point;
  static time_point now() noexcept {
    static time_point time;
    return time += std::chrono::microseconds(1);
  }
};

TEST(LineTime, does_not_count_the_reads_of_a_slow_clock) {
  constexpr std::size_t kLines = 16;
  alignas(kCacheLine) const std::array<std::byte, kLines * kCacheLine> memory{};
  EXPECT_EQ(time_lines<SlowClock>(memory.data(), kLines), 0.0);
}

}  // namespace
}  // namespace stria::hw
