// Messages that go to one peer in a row: others went before them, and this process did not look at what came
// meanwhile. Their receiver has those to read first. So nothing is gained when it may begin one while it is
// written, and each step of growing.hpp holds the sender up; and the window, which holds few long ones, makes
// it wait.
//
// Who waits for an answer looks. Who computes between its messages and never looks has a receiver that waits
// for each of them: that is found out by the clock, which is asked for every sixteenth.
#pragma once

#include <chrono>
#include <cstdint>

namespace stria::shm {

/// So many go before one that takes a cell though the window would take it (of kStreamLeast bytes and more);
/// and before one whose cell is published whole. Zen 5: a stream of 8 KiB 45 to 48 GB/s near, 12 to 17 far,
/// of 12 KiB 45 to 54 near.
inline constexpr std::uint32_t kStreamRow = 3, kWholeRow = 1;

/// What a sender knows of one peer; one thread.
class Row {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kEvery = 16;            // messages
  static constexpr std::chrono::microseconds kPace{10};  // more for each, and they are no row

  /// One more message goes; `round` is the number of the sender's last look. Whether so many went before it.
  [[gnu::always_inline]] bool goes_on(std::uint32_t round, std::uint32_t before) noexcept {
    if (round != round_) {
      round_ = round;
      length_ = 0;
      is_paced_ = false;
    }
    if (length_ % kEvery == kEvery - 1) [[unlikely]]
      look(Clock::now());
    return length_++ >= before && !is_paced_;
  }
  /// Another kEvery went; the first time it is only noted when.
  [[gnu::cold, gnu::noinline]] void look(Clock::time_point now) noexcept {
    is_paced_ = length_ >= kEvery && now - since_ > kEvery * kPace;
    since_ = now;
  }

 private:
  std::uint32_t round_ = 0, length_ = 0;
  bool is_paced_ = false;
  Clock::time_point since_{};
};

}  // namespace stria::shm
