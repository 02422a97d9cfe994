// What is timed now and then: some in a row, of which the majority decides, as single ones may be interrupted
// or have to wait for others.
#pragma once

#include <cstdint>
#include <optional>

namespace stria::shm {

class Looks {
 public:
  static constexpr std::uint32_t kRow = 16;     // in a row that are timed ...
  static constexpr std::uint32_t kEvery = 256;  // ... of so many

  /// Whether one with so many before it is to be timed.
  static constexpr bool is_due(std::uint32_t before) noexcept { return before % kEvery < kRow; }
  /// One was slow, or not. With the last one of a row: whether most were.
  std::optional<bool> note(bool slow) noexcept {
    slow_ += slow ? 1 : 0;
    if (++looks_ < kRow) return std::nullopt;
    const bool most = slow_ >= kMajority;
    *this = {};
    return most;
  }

 private:
  static constexpr std::uint32_t kMajority = 10;  // of kRow

  std::uint32_t looks_ = 0;  // of the row under way
  std::uint32_t slow_ = 0;   // of these
};

}  // namespace stria::shm
