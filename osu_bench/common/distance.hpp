// How far apart the two processes of a benchmark are: the time in which a cache line goes from one to the
// other. On a machine of virtual cores it changes while a program runs, two- or fourfold, and with it every
// figure of a small message; so it is measured before and after each row, and figures are compared with
// figures of the same distance.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

#include "osu_bench/common/buffer.hpp"
#include "osu_bench/common/clock.hpp"
#include "osu_bench/common/peer.hpp"

namespace stria::bench {

inline constexpr std::size_t kLine = 64;

/// Two lines, each written by one side alone.
struct LinePair {
  alignas(kLine) std::atomic<std::uint64_t> ping{0};  // release; pairs with the other side's acquire
  alignas(kLine) std::atomic<std::uint64_t> pong{0};
};

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

/// `trips` round trips, continuing at `trip`, as the side that begins. Nanoseconds one way.
inline double begin_line_trips(LinePair& lines, std::uint64_t& trip, std::uint64_t trips) {
  const double from = now_ns();
  for (std::uint64_t i = 0; i < trips; ++i) {
    lines.ping.store(++trip, std::memory_order_release);
    while (lines.pong.load(std::memory_order_acquire) != trip) pause_briefly();
  }
  return (now_ns() - from) / 2 / static_cast<double>(trips);
}

/// The other side of as many.
inline void answer_line_trips(LinePair& lines, std::uint64_t& trip, std::uint64_t trips) {
  for (std::uint64_t i = 0; i < trips; ++i) {
    ++trip;
    while (lines.ping.load(std::memory_order_acquire) != trip) pause_briefly();
    lines.pong.store(trip, std::memory_order_release);
  }
}

/// A page that all processes of this name have in common, in memory; the name is taken away by unlink_page().
/// Empty where it cannot be had.
Buffer shared_page(const std::string& name, bool create);
void unlink_page(const std::string& name);

/// The distances before and after a row was measured, in microseconds.
struct Distances {
  double before = 0;
  double after = 0;
};

template <Peer P>
class Distance {
 public:
  /// Collective.
  explicit Distance(P& peer) : peer_(peer) {
    const bool first = peer.rank() == 0;
    const std::string name = "/stria_bench." + std::to_string(peer.broadcast(first ? ::getpid() : 0));
    if (first) page_ = shared_page(name, true);
    peer.barrier();
    if (!first) page_ = shared_page(name, false);
    known_ = all_agree(peer, page_.data() != nullptr && peer.size() == 2);
    if (first) unlink_page(name);
  }

  /// Microseconds one way on rank 0; 0 elsewhere, and where it is not known. Collective.
  double us() {
    if (!known_) return 0;
    constexpr std::uint64_t kTrips = 40;
    constexpr double kTooLong = 1e5;  // ns: both are on one core, or others take it from them
    LinePair& lines = *reinterpret_cast<LinePair*>(page_.data());
    peer_.barrier();
    if (peer_.rank() != 0) {
      answer_line_trips(lines, trip_, kRepeats * kTrips);
    } else {
      least_ = begin_line_trips(lines, trip_, kTrips);
      for (int i = 1; i < kRepeats; ++i) least_ = std::min(least_, begin_line_trips(lines, trip_, kTrips));
    }
    known_ = peer_.broadcast(least_ < kTooLong ? 1 : 0) != 0;
    return known_ ? least_ / 1e3 : 0;
  }

 private:
  static constexpr int kRepeats = 4;

  P& peer_;
  Buffer page_;
  std::uint64_t trip_ = 0;
  double least_ = 0;
  bool known_ = false;
};

}  // namespace stria::bench
