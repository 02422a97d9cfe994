// How far the caches of two cores are apart, learnt by the receiver of cells and told to their sender.
//
// Near cores share a cache: a line that one wrote comes to the other in a few nanoseconds, many at a time.
// Between far ones each line is passed on by itself, 2 GB/s whatever the cores do, and stores past the cache
// into memory are up to ten times as fast (1 MiB: 51 us against 470; near ones: 57 against 42). A virtual
// machine moves its processors about, so this changes while a job runs.
//
// While a peer is taken to be near, the receiver times how the first lines of a cell come, now and then. Once
// the peer is far there is nothing to time: lines that were written past the caches say nothing about the
// caches, and what is read by gets brings no cells at all. So after a while it is taken to be near again,
// until some cells have shown whether it is. Trying costs about a millisecond where it is not, so the while
// doubles each time, from 20 ms to a third of a second.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "hw/pio.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kLookBytes = 1024;
inline constexpr std::uint32_t kStreamLeast = 2048;  // a shorter cell is stored ordinarily

/// What the receiver knows of one peer; one thread.
class Distance {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kLookEvery = 16;  // cells
  static constexpr std::chrono::milliseconds kTryAfter{20}, kTryAtLast{320};

  /// A cell of at least kLookBytes came, and up to `under_way` others were written before its sender could
  /// hear of a change. True when is_far() changed.
  bool came(const std::byte* cell, std::uint32_t under_way) noexcept {
    if (far_) return ++cells_ % kLookEvery == 0 && try_again(Clock::now(), under_way);
    if (skip_ > 0) {
      --skip_;
      return false;
    }
    if (!trying_ && ++cells_ % kLookEvery != 0) return false;
    return note(time(cell));
  }
  /// A peer that was far for long is taken to be near. True when it is now.
  bool try_again(Clock::time_point now, std::uint32_t under_way) noexcept {
    if (since_ == Clock::time_point{}) since_ = now;
    if (now - since_ < wait_) return false;
    wait_ = std::min(2 * wait_, kTryAtLast);
    far_ = false;
    trying_ = true;
    cells_ = 0;
    skip_ = under_way;
    return true;
  }
  /// The same of a cell that took so many ns a line.
  bool note(float ns) noexcept {
    if (ns > kAbsurd) return false;  // it was interrupted, or waited for a page
    slow_ = ns > kFar ? slow_ + 1 : 0;
    if (slow_ == 0) {
      trying_ = false;
      wait_ = kTryAfter;
    }
    if (slow_ < kSure) return false;
    far_ = true;
    trying_ = false;
    slow_ = cells_ = 0;
    since_ = {};
    return true;
  }
  bool is_far() const noexcept { return far_; }

 private:
  static constexpr float kFar = 6, kAbsurd = 200;  // ns a line; 2 to 5 and 7 to 15 were measured
  // Slow cells in a row: where others use the cache that near cores share, some of theirs come from memory.
  static constexpr std::uint32_t kSure = 12;

  static float time(const std::byte* cell) noexcept {
    constexpr std::uint32_t kLast = kLookBytes - kLine, kTimed = kLast / kLine - 1;
    std::uint64_t sum = hw::load_word(cell) + hw::load_word(cell + kLast);  // waits for new pages
    asm volatile("" : "+r"(sum));
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t at = kLine; at < kLast; at += kLine) sum += hw::load_word(cell + at);
    asm volatile("" : "+r"(sum));  // all of them came
    const std::chrono::duration<float, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / static_cast<float>(kTimed);
  }

  std::uint32_t cells_ = 0;  // since the last change
  std::uint32_t skip_ = 0;   // cells that may still be written past the caches
  std::uint32_t slow_ = 0;
  std::chrono::milliseconds wait_ = kTryAfter;
  Clock::time_point since_{};  // far, as far as cells show it
  bool far_ = false;
  bool trying_ = false;  // every cell is looked at
};

}  // namespace stria::shm
