// Rewriting: whether a program may have written anew the memory that it is about to send.
//
// A get leaves the lines of the sender's memory in the caches of both sides. Between far caches the sender
// then writes them slowly: 1 MiB that was got takes 140 us to write again, 1 MiB that its own core had packed
// 65. A program that sends the same bytes again, as most benchmarks do, never writes them, so a get costs it
// nothing more. Whether lines were written cannot be seen. But a program that was outside the library for
// less time than writing them takes has not written them all.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace stria::rndv {

/// What the program of one worker had time to write. Threads: called with the worker's lock held.
class Rewriting {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kLeast = 65536;  ///< length in bytes from which on messages are considered
  static constexpr std::uint64_t kMost = 32u
                                         << 20;  ///< bytes that count of a longer message: what caches hold
  static constexpr std::uint64_t kBytesPerNs = 50;  ///< bytes that one core writes per ns at best

  /// A message of kLeast bytes or more has ended.
  void seen(Clock::time_point now) noexcept { seen_ = now; }
  /// Whether all of a message of `bytes` that is announced now may be new. Messages that are announced one
  /// after the other draw on one budget: what could have been written in the time before the first of them.
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
