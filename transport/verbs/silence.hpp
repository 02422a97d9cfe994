// Measures for how long no request of a link has completed while requests were under way. It looks now and
// then; of the time between two looks no more than half the limit counts, because a process or a virtual
// machine that was stopped must not blame its peer for that time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stria::verbs {

class Silence {
 public:
  explicit Silence(std::uint64_t limit_ms) noexcept : limit_ms_(limit_ms) {}
  /// Whether a look would come so soon after the last one that it would say nothing.
  bool is_too_soon(std::uint64_t now_ms) const noexcept {
    return asked_ && now_ms - looked_ms_ < limit_ms_ / 64;
  }
  /// Looks: `completed` is how many requests of the link have completed, in all. True: requests were under
  /// way at the last look, and none has completed since.
  bool look(std::uint64_t now_ms, std::uint32_t completed) noexcept {
    const bool unanswered = asked_ && completed == completed_;
    silent_ms_ = unanswered ? silent_ms_ + std::min(now_ms - looked_ms_, limit_ms_ / 2) : 0;
    looked_ms_ = now_ms;
    completed_ = completed;
    return unanswered;
  }
  /// Ends a look: `under_way` says whether requests are under way now.
  void leave(bool under_way) noexcept { asked_ = under_way; }
  bool is_over_limit() const noexcept { return silent_ms_ > limit_ms_; }
  std::uint64_t limit_ms() const noexcept { return limit_ms_; }

 private:
  const std::uint64_t limit_ms_;
  bool asked_ = false;  // requests were under way at the end of the last look
  std::uint32_t completed_ = 0;
  std::uint64_t looked_ms_ = 0;  // when the last look was
  std::uint64_t silent_ms_ = 0;
};

}  // namespace stria::verbs
