// time_lines() leaves out the time that the clock itself takes.
#include "hw/line_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace stria::hw {
namespace {

/// A clock of which each read takes as long as a system call.
struct SlowClock {
  using time_point = std::chrono::steady_clock::time_point;
  static time_point now() noexcept {
    const time_point begin = std::chrono::steady_clock::now();
    time_point end = begin;
    while (end - begin < std::chrono::microseconds(1)) end = std::chrono::steady_clock::now();
    return end;
  }
};

TEST(LineTime, does_not_count_the_reads_of_a_slow_clock) {
  constexpr std::size_t kLines = 16;
  alignas(kCacheLine) std::array<std::byte, kLines * kCacheLine> memory{};
  double least = kFarLineNs;  // a single time may have an interrupt in it
  for (int i = 0; i < 1000; ++i) least = std::min(least, time_lines<SlowClock>(memory.data(), kLines));
  EXPECT_GE(least, 0.0);
  EXPECT_LT(least, kFarLineNs) << "lines in this core's cache are near";
}

}  // namespace
}  // namespace stria::hw
