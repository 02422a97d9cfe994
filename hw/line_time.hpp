// Times how lines come that another core wrote. Near cores share a last-level cache, and many of their lines
// come at a time. Between far cores, which share none, each line is waited for, or few come at a time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "base/instructions.hpp"
#include "hw/pio.hpp"

namespace stria::hw {

/// A line that a far core wrote takes longer than this time, in nanoseconds, when many lines are loaded at
/// once (docs/notebook/rendezvous.md, "Distance").
inline constexpr double kFarLineNs = 7;

/// Loads `lines` lines, at least 3, from `at` on. Returns the nanoseconds that one of them took. The first
/// and the last line are not timed: they are loaded before, so that the time has no wait for new pages. Nor
/// is a read of the clock, which takes longer than all lines where it is a system call: its time is the
/// shorter one of two reads, as one may be interrupted.
template <class Clock = std::chrono::steady_clock>
double time_lines(const std::byte* at, std::size_t lines) noexcept {
  using Nanoseconds = std::chrono::duration<double, std::nano>;
  const std::size_t last = (lines - 1) * kCacheLine;
  const auto first = Clock::now(), second = Clock::now(), third = Clock::now();
  std::uint64_t sum = load_word_unordered(at) + load_word_unordered(at + last);
  wait_for_loads(sum);
  const auto begin = Clock::now();
  for (std::size_t line = kCacheLine; line < last; line += kCacheLine) sum += load_word_unordered(at + line);
  wait_for_loads(sum);  // all of them came
  const Nanoseconds took = Clock::now() - begin - std::min(second - first, third - second);
  return std::max(took.count(), 0.0) / static_cast<double>(lines - 2);
}

}  // namespace stria::hw
