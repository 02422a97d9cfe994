// How far the caches of two cores are apart, learnt by the receiver of cells and told to their sender.
//
// Near cores share a cache: a line that one wrote comes to the other in a few nanoseconds, many at a time.
// Between far ones each line is passed on by itself, 2 GB/s whatever the cores do, and stores that do not
// fetch it first (gather.hpp) are up to ten times as fast (1 MiB: 51 us against 470; near ones: 57 against
// 42). A virtual machine moves its processors about, so this changes while a job runs.
//
// While a peer is taken to be near, the receiver times how lines from the middle of a cell come, of some
// cells in a row now and then, and the majority decides: where others use the cache that near cores share,
// some lines come from memory. (The first lines say less: whoever copies the cell before fetches them ahead.)
// Once the peer is far there is nothing to time: lines that were written past the caches say nothing about
// the caches, and what is read by gets brings no cells at all. So after a while it is taken to be near again,
// until some cells have shown whether it is. Trying costs about a millisecond where it is not, so the while
// doubles each time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "hw/pio.hpp"
#include "transport/shm/looks.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kLookBytes = 1024;

/// What the receiver knows of one peer; one thread.
class Distance {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kFirst = 256;  // cells of new memory, which say nothing
  static constexpr std::chrono::milliseconds kTryAfter{100}, kTryAtLast{1600};

  /// A cell of at least kLookBytes came, and up to `under_way` others were written before its sender could
  /// hear of a change. True when is_far() changed.
  bool came(const std::byte* cell, std::uint32_t bytes, std::uint32_t under_way) noexcept {
    if (far_) return ++cells_ % Looks::kRow == 0 && try_again(Clock::now(), under_way);
    if (skip_ > 0) {
      --skip_;
      return false;
    }
    return Looks::is_due(cells_++) && look(cell + look_at(bytes));
  }
  /// Counts a cell of a near peer that has nothing to tell. False: came() is to see it, it is not counted.
  bool passes() noexcept {
    if (far_ || skip_ != 0 || Looks::is_due(cells_)) return false;
    ++cells_;
    return true;
  }
  /// Whether came() times lines of the next cell.
  bool looks() const noexcept { return !far_ && skip_ == 0 && Looks::is_due(cells_); }
  /// A peer that was far for long is taken to be near. True when it is now.
  bool try_again(Clock::time_point now, std::uint32_t under_way) noexcept {
    if (since_ == Clock::time_point{}) since_ = now;
    if (now - since_ < wait_) return false;
    wait_ = std::min(2 * wait_, kTryAtLast);
    far_ = false;
    cells_ = 0;
    looks_ = {};
    skip_ = under_way;
    return true;
  }
  /// A cell took so many ns a line. True when is_far() changed.
  bool note(float ns) noexcept {
    if (ns > kAbsurd) return false;  // it was interrupted, or waited for a page
    const std::optional<bool> slow = looks_.note(ns > kFar);
    if (!slow) return false;
    far_ = *slow;
    cells_ = far_ ? 0 : cells_;
    since_ = {};
    if (!far_) wait_ = kTryAfter;
    return far_;
  }
  bool is_far() const noexcept { return far_; }
  /// Where in a cell of so many bytes, at least kLookBytes, the lines are that are timed: on one page.
  static constexpr std::uint32_t look_at(std::uint32_t bytes) noexcept {
    return bytes / 2 / kLookBytes * kLookBytes;
  }

 private:
  /// Apart, so that the many cells that are not timed need few registers.
  [[gnu::cold, gnu::noinline]] bool look(const std::byte* lines) noexcept { return note(time(lines)); }
  static constexpr float kFar = 12, kAbsurd = 200;  // ns a line; near up to 10, far mostly 12 to 60

  static float time(const std::byte* lines) noexcept {
    constexpr std::uint32_t kLast = kLookBytes - kLine, kTimed = kLast / kLine - 1;
    std::uint64_t sum = hw::load_word(lines) + hw::load_word(lines + kLast);  // waits for new pages
    asm volatile("" : "+r"(sum));
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t at = kLine; at < kLast; at += kLine) sum += hw::load_word(lines + at);
    asm volatile("" : "+r"(sum));  // all of them came
    const std::chrono::duration<float, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / static_cast<float>(kTimed);
  }

  std::uint32_t cells_ = 0;      // since the last change
  std::uint32_t skip_ = kFirst;  // cells that say nothing: of new memory, or written past the caches
  Looks looks_;
  std::chrono::milliseconds wait_ = kTryAfter;
  Clock::time_point since_{};  // far, as far as cells show it
  bool far_ = false;
};

}  // namespace stria::shm
