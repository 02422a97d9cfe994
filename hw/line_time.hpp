// Times how lines come that another core wrote. Near cores share a last-level cache, and many of their lines
// come at a time. Between far cores, which share none, each line is waited for, or few come at a time.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/instructions.hpp"
#include "hw/pio.hpp"

namespace stria::hw {

/// A line that was written by a far core takes longer than this, in nanoseconds, one of many that are loaded
/// at once (docs/notebook/rendezvous.md, "Distance").
inline constexpr double kFarLineNs = 12;

/// Loads `lines` lines, at least 3, from `at` on. Returns the nanoseconds that one of them took. The first
/// and the last line are not timed: they are loaded before, so that the time has no wait for new pages.
inline double time_lines(const std::byte* at, std::size_t lines) noexcept {
  const std::size_t last = (lines - 1) * kCacheLine;
  std::uint64_t sum = load_word_unordered(at) + load_word_unordered(at + last);
  wait_for_loads(sum);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t line = kCacheLine; line < last; line += kCacheLine) sum += load_word_unordered(at + line);
  wait_for_loads(sum);  // all of them came
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / static_cast<double>(lines - 2);
}

}  // namespace stria::hw
