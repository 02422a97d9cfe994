// How fast bytes get from the caches of one end of a link into those of the other, learnt while they do. Two
// cores of one machine may be five times as far apart as two others, and a virtual machine moves them about.
#pragma once

#include <cstdint>

namespace stria::transport {

class Pace {
 public:
  /// Time a KiB takes a core that reads what another wrote; 0: not known yet.
  float us_per_kib() const noexcept { return us_per_kib_; }
  /// Notes that `bytes` took `us`. What took absurdly long was interrupted and says nothing.
  void note(double us, std::uint32_t bytes) noexcept {
    const auto sample = static_cast<float>(us * 1024.0 / bytes);
    if (sample > kAbsurd) return;
    us_per_kib_ = us_per_kib_ == 0.0F ? sample : us_per_kib_ + (sample - us_per_kib_) / 4.0F;
    since_ = 0;
  }
  /// Whether it is time to look again: at the first call, and after every kStale others without a note.
  bool is_stale() noexcept {
    if (since_++ < kStale) return false;
    since_ = 0;  // a look that tells nothing is not repeated at once
    return true;
  }

 private:
  static constexpr float kAbsurd = 3.0F;
  static constexpr std::uint16_t kStale = 32;  // decisions: with one in 32 the wrong way little is lost
  float us_per_kib_ = 0.0F;
  std::uint16_t since_ = kStale;
};

}  // namespace stria::transport
