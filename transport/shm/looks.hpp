// Sampling of events that are timed now and then: some events in a row are timed, and the majority decides
// whether events are slow. A single one may be interrupted, or wait for something else.
#pragma once

#include <cstdint>
#include <optional>

namespace stria::shm {

class Looks {
 public:
  static constexpr std::uint32_t kRow = 16;     // events in a row are timed ...
  static constexpr std::uint32_t kEvery = 256;  // ... of so many events

  /// Whether an event is to be timed that comes after `before` others.
  static constexpr bool is_due(std::uint32_t before) noexcept { return before % kEvery < kRow; }
  /// Counts a timed event as slow, or not. After the last event of a row: whether most of the row were slow.
  std::optional<bool> note(bool slow) noexcept {
    slow_ += slow ? 1 : 0;
    if (++looks_ < kRow) return std::nullopt;
    const bool most = slow_ >= kMajority;
    *this = {};
    return most;
  }

 private:
  static constexpr std::uint32_t kMajority = 10;  // of kRow

  std::uint32_t looks_ = 0;  // timed events of this row so far
  std::uint32_t slow_ = 0;   // how many of them were slow
};

}  // namespace stria::shm
