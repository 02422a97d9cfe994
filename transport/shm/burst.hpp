// Detects a burst: messages that go to one peer while the sender does not poll for messages that arrive. The
// receiver of a burst has the earlier messages to read first. So it gains nothing by reading a message while
// it is written (growing.hpp), whose steps hold the sender up; and the window, which holds few long messages,
// makes the sender wait.
//
// A sender that waits for an answer polls, which ends the burst. A sender that computes between its messages
// and never polls has a receiver that waits for each message: these are no burst. The sender finds that out
// by the clock, every kEvery messages.
#pragma once

#include <chrono>
#include <cstdint>

namespace stria::shm {

/// How many messages of a burst go before one that takes a cell although it fits the window (gather.hpp:
/// kBurstLeast), and before one whose cell is published whole.
inline constexpr std::uint32_t kCellBurst = 3, kWholeBurst = 1;

/// The burst of messages to one peer, as its sender counts it. One thread.
class Burst {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kEvery = 16;            // messages
  static constexpr std::chrono::microseconds kPace{10};  // messages further apart, on average, are no burst

  /// Counts a message that is about to go. `polls`: how often the sender has polled so far (Shared::polls).
  /// Whether the message is in a burst, behind at least `before` others.
  [[gnu::always_inline]] bool goes_on(std::uint32_t polls, std::uint32_t before) noexcept {
    if (polls != polls_) {
      polls_ = polls;
      length_ = 0;
      is_spaced_ = false;
    }
    if (length_ % kEvery == kEvery - 1) [[unlikely]]
      measure_pace(Clock::now());
    return length_++ >= before && !is_spaced_;
  }

 private:
  /// To be called once for kEvery messages: measures the time since the last call. The first call of a burst
  /// only notes the time.
  [[gnu::cold, gnu::noinline]] void measure_pace(Clock::time_point now) noexcept {
    is_spaced_ = length_ >= kEvery && now - since_ > kEvery * kPace;
    since_ = now;
  }

  std::uint32_t polls_ = 0, length_ = 0;
  bool is_spaced_ = false;     // the messages are further apart than kPace
  Clock::time_point since_{};  // the last call of measure_pace()
};

}  // namespace stria::shm
