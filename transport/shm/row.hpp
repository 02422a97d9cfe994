// Detects messages that go to one peer in a row: other messages went to the peer before, and the sender has
// not looked at arriving messages meanwhile. The receiver of a row has the earlier messages to read first.
// So it gains nothing by reading a message while it is written (growing.hpp), whose steps hold the sender
// up; and the window, which holds few long messages, makes the sender wait.
//
// A sender that waits for an answer looks, which ends the row. A sender that computes between its messages
// and never looks has a receiver that waits for each message: these are no row. The sender finds that out by
// the clock, every kEvery messages.
#pragma once

#include <chrono>
#include <cstdint>

namespace stria::shm {

/// How many messages of a row go before one that takes a cell although it fits the window (gather.hpp:
/// kStreamLeast), and before one whose cell is published whole.
inline constexpr std::uint32_t kStreamRow = 3, kWholeRow = 1;

/// The row of messages to one peer, as its sender counts it. One thread.
class Row {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kEvery = 16;            // messages
  static constexpr std::chrono::microseconds kPace{10};  // messages further apart, on average, are no row

  /// Counts a message that is about to go. `round`: how often the sender has looked so far (Shared::rounds).
  /// Whether the message is in a row behind at least `before` others.
  [[gnu::always_inline]] bool goes_on(std::uint32_t round, std::uint32_t before) noexcept {
    if (round != round_) {
      round_ = round;
      length_ = 0;
      is_spaced_ = false;
    }
    if (length_ % kEvery == kEvery - 1) [[unlikely]]
      look(Clock::now());
    return length_++ >= before && !is_spaced_;
  }
  /// To be called once for kEvery messages: measures the time since the last call. The first call of a row
  /// only notes the time.
  [[gnu::cold, gnu::noinline]] void look(Clock::time_point now) noexcept {
    is_spaced_ = length_ >= kEvery && now - since_ > kEvery * kPace;
    since_ = now;
  }

 private:
  std::uint32_t round_ = 0, length_ = 0;
  bool is_spaced_ = false;     // the messages are further apart than kPace
  Clock::time_point since_{};  // the last call of look()
};

}  // namespace stria::shm
