// How long what a link has under way has not moved. Of the time between two looks no more than half the limit
// counts: a process or a guest that was stopped must not blame its peer for that.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stria::verbs {

class Silence {
 public:
  explicit Silence(std::uint64_t limit_ms) noexcept : limit_ms_(limit_ms) {}
  /// A look so soon after the last one would say nothing.
  bool is_too_soon(std::uint64_t now_ms) const noexcept {
    return asked_ && now_ms - looked_ms_ < limit_ms_ / 64;
  }
  /// `completed`: requests, in all. True: what was under way at the look before still is, and nothing
  /// completed since.
  bool look(std::uint64_t now_ms, std::uint32_t completed) noexcept {
    const bool unanswered = asked_ && completed == completed_;
    silent_ms_ = unanswered ? silent_ms_ + std::min(now_ms - looked_ms_, limit_ms_ / 2) : 0;
    looked_ms_ = now_ms;
    completed_ = completed;
    return unanswered;
  }
  /// The look left something under way, or not.
  void leave(bool under_way) noexcept { asked_ = under_way; }
  bool is_over_limit() const noexcept { return silent_ms_ > limit_ms_; }
  std::uint64_t limit_ms() const noexcept { return limit_ms_; }

 private:
  const std::uint64_t limit_ms_;
  bool asked_ = false;
  std::uint32_t completed_ = 0;
  std::uint64_t looked_ms_ = 0;
  std::uint64_t silent_ms_ = 0;
};

}  // namespace stria::verbs
