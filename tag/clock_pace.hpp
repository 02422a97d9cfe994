// How many progress calls of a worker go by between two readings of the clock, which cost more than a call
// that finds nothing. Calls of a program that polls take a tenth of a microsecond. Those of a program that
// computes between them, or whose processor others use, may take milliseconds each; there the clock is read
// at each of them, so that what is to be done in time is done.
#pragma once

#include <algorithm>
#include <chrono>

namespace stria::tag {

class ClockPace {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned kMost = 256;  ///< calls from one reading to the next, at most
  /// The time from one reading to the next: no more than that, but for calls that suddenly take longer.
  static constexpr std::chrono::milliseconds kLongest{10};

  explicit ClockPace(Clock::time_point now) noexcept : read_(now) {}

  /// This call is the one at which the clock is to be read.
  bool is_due() const noexcept { return left_ <= 1; }
  /// A call at which the clock was not read.
  void pass() noexcept { --left_; }
  /// The clock was read at this call.
  void was_read(Clock::time_point now) noexcept {
    constexpr auto kShort = kLongest / 8;
    const auto took = now - read_;
    read_ = now;
    if (took > kLongest)
      calls_ = std::max(calls_ / 8, 1u);
    else if (took < kShort)
      calls_ = std::min(calls_ * 2, kMost);
    left_ = calls_;
  }

 private:
  unsigned left_ = 1;   // calls up to the next reading, that one included
  unsigned calls_ = 1;  // from one reading to the next
  Clock::time_point read_;
};

}  // namespace stria::tag
