// How a cost is measured: the ways that are compared take turns, a few short rounds, and each way has the
// median of its times. Rounds end when the time for measuring has passed.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace stria::hw {

using Clock = std::chrono::steady_clock;

inline double ns_since(Clock::time_point begin) noexcept {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

/// When measuring has to end.
class Deadline {
 public:
  explicit Deadline(std::chrono::microseconds from_now) noexcept
      : limit_(from_now), until_(Clock::now() + from_now) {}
  bool passed() const noexcept { return Clock::now() >= until_; }
  /// The whole time for measuring, from the beginning to the deadline, in ns.
  double limit_ns() const noexcept { return std::chrono::duration<double, std::nano>(limit_).count(); }

 private:
  std::chrono::microseconds limit_;
  Clock::time_point until_;
};

inline constexpr std::size_t kRounds = 9;        ///< an odd number, after a round that warms up
inline constexpr std::size_t kFewestRounds = 3;  ///< fewer say nothing

/// The medians of `measure(way)`, a time, for each way from 0 on. All 0: the deadline passed before there
/// were enough rounds, or a time was not positive (the way could not be measured).
template <std::size_t kWays, class Measure>
std::array<double, kWays> medians(const Deadline& deadline, Measure&& measure) {
  std::array<std::array<double, kRounds>, kWays> times;
  std::size_t rounds = 0;
  for (std::size_t way = 0; way < kWays && !deadline.passed(); ++way) measure(way);
  for (; rounds < kRounds && !deadline.passed(); ++rounds)
    for (std::size_t way = 0; way < kWays; ++way) {
      times[way][rounds] = measure(way);
      if (!(times[way][rounds] > 0)) return {};
    }
  std::array<double, kWays> out{};
  if (rounds < kFewestRounds) return out;
  for (std::size_t way = 0; way < kWays; ++way) {
    const auto middle = times[way].begin() + static_cast<std::ptrdiff_t>(rounds / 2);
    std::nth_element(times[way].begin(), middle, times[way].begin() + static_cast<std::ptrdiff_t>(rounds));
    out[way] = *middle;
  }
  return out;
}

}  // namespace stria::hw
