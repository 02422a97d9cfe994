// How far the caches of two cores are apart, learnt by the receiver of cells and told to their sender.
//
// Near cores share a cache: a line that one wrote comes to the other in a few nanoseconds, many at a time.
// Between far ones each line is passed on by itself, 2 GB/s whatever the cores do, and stores past the cache
// into memory are up to ten times as fast (1 MiB: 51 us against 470; near ones: 57 against 42). A virtual
// machine moves its processors about, so this changes while a job runs.
//
// Every kLookEvery-th cell is begun with ordinary stores in any case; the receiver times how its lines come.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "hw/pio.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kLookEvery = 16;
inline constexpr std::uint32_t kLookBytes = 1024;
inline constexpr std::uint32_t kStreamLeast = 2048;  // a shorter cell is stored ordinarily

/// Whether a cell is begun with ordinary stores for the receiver to look at.
constexpr bool is_looked_at(std::uint32_t cell) noexcept {
  return cell % kLookEvery == 0;
}

/// What the receiver knows; one thread.
class Distance {
 public:
  /// Reads the first kLookBytes of a cell. True when is_far() changed.
  bool look(const std::byte* cell) noexcept {
    constexpr std::uint32_t kLast = kLookBytes - kLine;
    std::uint64_t sum = hw::load_word(cell) + hw::load_word(cell + kLast);  // waits for new pages
    asm volatile("" : "+r"(sum));
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t at = kLine; at < kLast; at += kLine) sum += hw::load_word(cell + at);
    asm volatile("" : "+r"(sum));  // all of them came
    const std::chrono::duration<float, std::nano> took = std::chrono::steady_clock::now() - begin;
    return note(took.count() / (kLast / kLine - 1));
  }
  /// The same with a measured time, ns a line.
  bool note(float ns) noexcept {
    if (ns > kAbsurd) return false;  // it was interrupted, or waited for a page
    ns_per_line_ = ns_per_line_ == 0 ? ns : ns_per_line_ + (ns - ns_per_line_) / 4;
    const bool was = far_;
    far_ = ns_per_line_ > (far_ ? kNear : kFar);
    return far_ != was;
  }
  bool is_far() const noexcept { return far_; }
  float ns_per_line() const noexcept { return ns_per_line_; }

 private:
  static constexpr float kNear = 5, kFar = 6, kAbsurd = 200;  // ns a line; 2 to 5 and 7 to 15 were measured
  float ns_per_line_ = 0;
  bool far_ = false;
};

}  // namespace stria::shm
