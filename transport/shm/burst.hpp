// Detects a burst: messages that go to one peer while the sender does not poll for messages that arrive. The
// receiver of a burst has the earlier messages to read first. So it gains nothing by reading a message while
// it is written (growing.hpp), whose steps hold the sender up; and the window, which holds few long messages,
// makes the sender wait. A sender that waits for an answer polls, which ends the burst. One that computes
// between its messages and never polls is taken for a burst as well: its receiver waits a little longer for
// each.
#pragma once

#include <cstdint>

namespace stria::shm {

/// Minimum size, in bytes, of payloads that go through a cell although they fit the window: while the
/// receiver is behind, or in a burst.
inline constexpr std::uint32_t kBurstLeast = 2048;
/// How many messages of a burst go before one that takes a cell although it fits the window (kBurstLeast),
/// and before one whose cell is published whole.
inline constexpr std::uint32_t kCellBurst = 3, kWholeBurst = 1;

/// The burst of messages to one peer, as its sender counts it. One thread.
class Burst {
 public:
  /// Counts a long message that is to be sent now, again if it is refused and tried again without a poll.
  /// `polls`: how often the sender has polled so far (Shared::polls). Returns whether at least `before` such
  /// messages came before it since the last poll.
  [[gnu::always_inline]] bool goes_on(std::uint32_t polls, std::uint32_t before) noexcept {
    if (polls != polls_) {
      polls_ = polls;
      length_ = 0;
    }
    return length_++ >= before;
  }

 private:
  std::uint32_t polls_ = 0, length_ = 0;
};

}  // namespace stria::shm
