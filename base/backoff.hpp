// How soon something is tried again that was refused: 1 time it is passed over at first, then 2 times, 4, up
// to kMost. Then it is tried. If it is refused again, the number doubles. So what is always refused costs one
// attempt in kMost + 1 times, and what works again is back soon. Counted in uses, not in time: what is not
// used costs nothing.
#pragma once

#include <cstdint>

namespace stria {

class Backoff {
 public:
  static constexpr std::uint16_t kMost = 64;

  /// Whether it is to be tried; false: this use was counted as one that passes it over.
  bool allow() noexcept {
    if (left_ == 0) return true;
    --left_;
    return false;
  }
  /// It was tried and refused. Several that were allowed before the first of them was refused count once.
  void refused() noexcept {
    if (left_ != 0) return;
    span_ = span_ == 0 ? 1 : span_ < kMost ? static_cast<std::uint16_t>(2 * span_) : kMost;
    left_ = span_;
  }
  /// So many uses more pass it over.
  std::uint16_t left() const noexcept { return left_; }

 private:
  std::uint16_t span_ = 0;
  std::uint16_t left_ = 0;
};

}  // namespace stria
