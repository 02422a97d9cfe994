// Whether a program may have written anew what it is about to send.
//
// A get leaves the sender's lines in the caches of both. Between far caches it costs the sender dear to write
// them again: 1 MiB that was got 140 us, one that its own core had packed 65. A program that sends the same
// bytes again, as most benchmarks do, never pays for it, so it should not be asked to. Nobody can look at
// the lines; but who was away from the library for less time than writing takes has written nothing.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace stria::rndv {

/// What one worker's program had time for; under the worker's lock.
class Rewriting {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kLeast = 65536;     ///< bytes of the messages that it is about
  static constexpr std::uint64_t kMost = 32u << 20;  ///< and of what caches hold
  static constexpr std::uint64_t kBytesPerNs = 50;   ///< that one core writes at best

  /// Such a message ends.
  void seen(Clock::time_point now) noexcept { seen_ = now; }
  /// Whether so many bytes that are announced now may be new. Several messages share the time before the
  /// first of them.
  bool may_be_new(std::uint64_t bytes, Clock::time_point now) noexcept {
    const auto away = std::chrono::duration_cast<std::chrono::nanoseconds>(now - seen_).count();
    const std::uint64_t could = static_cast<std::uint64_t>(std::max<std::int64_t>(away, 0)) * kBytesPerNs;
    seen_ = now;
    bytes = std::min(bytes, kMost);
    if (could >= bytes) new_ = std::min(could, kMost);
    if (new_ < bytes) return false;
    new_ -= bytes;
    return true;
  }

 private:
  Clock::time_point seen_{};
  std::uint64_t new_ = 0;  // bytes that may have been written, and were not announced yet
};

}  // namespace stria::rndv
