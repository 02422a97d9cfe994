// Copies with non-temporal stores, which go past the cache. An ordinary store to a destination that outgrows
// the cache first reads the line that it overwrites, and evicts a line that is still needed. Only whole cache
// lines are written so; parts of lines get ordinary stores.
#pragma once

#include <algorithm>

#include "datatype/kernels/block.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace stria::datatype::kernel {

inline constexpr std::int64_t kNontemporalLine = 64;
/// Prefetch distance, in blocks of a source with gaps; 8 and 32 measured slower.
inline constexpr std::int64_t kNontemporalAhead = 16;
/// Longest block, in bytes, that packing writes past the cache: longer blocks of a source with gaps gain
/// nothing.
inline constexpr std::int64_t kNontemporalBlock = 256;
/// Shortest run, in bytes, that is written past the cache: a shorter run has too few whole lines to gain.
inline constexpr std::int64_t kNontemporalRun = 256;

/// Copies `lines` cache lines past the cache. `to` is aligned to a line, `from` need not be. The caller ends
/// with nontemporal_fence().
[[gnu::always_inline]] inline void nontemporal_lines(Address to, Address from, std::int64_t lines) noexcept {
#if defined(__x86_64__)
  for (; lines > 0; --lines) {
    const auto* in = reinterpret_cast<const __m128i*>(from);  // NOLINT(performance-no-int-to-ptr)
    auto* out = reinterpret_cast<__m128i*>(to);               // NOLINT(performance-no-int-to-ptr)
    const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
    const __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
    to = moved(to, kNontemporalLine);
    from = moved(from, kNontemporalLine);
  }
#else
  if (lines > 0) std::memcpy(at(to), at(from), static_cast<std::size_t>(lines * kNontemporalLine));
#endif
}

/// Copies `n` bytes, the whole lines among them past the cache. `to` need not be aligned. The caller ends
/// with nontemporal_fence().
inline void nontemporal_run(Address to, Address from, std::int64_t n) noexcept {
  const std::int64_t head = std::min(n, static_cast<std::int64_t>((0 - to) & (kNontemporalLine - 1)));
  const std::int64_t lines = (n - head) / kNontemporalLine;
  const std::int64_t tail = n - head - lines * kNontemporalLine;
  if (head > 0) copy_one<16>(to, from, head);
  nontemporal_lines(moved(to, head), moved(from, head), lines);
  if (tail > 0) copy_one<16>(moved(to, n - tail), moved(from, n - tail), tail);
}

/// Whether blocks of `bytes` bytes at `to`, `to_stride` apart, cover only whole cache lines.
inline bool whole_lines(Address to, std::int64_t to_stride, std::int64_t bytes) noexcept {
  return ((static_cast<std::int64_t>(to) | to_stride | bytes) & (kNontemporalLine - 1)) == 0;
}

/// Copies `count` blocks of `bytes` bytes past the cache, for which whole_lines() holds. The caller ends with
/// nontemporal_fence(). Six parameters: those of Kernels::Strided.
inline void nontemporal_strided(Address from, std::int64_t from_stride, Address to, std::int64_t to_stride,
                                std::int64_t count, std::int64_t bytes) noexcept {
  const std::int64_t lines = bytes / kNontemporalLine;
  for (; count > 0; --count) {
    if (from_stride != bytes && lines <= 4)
      __builtin_prefetch(at(moved(from, kNontemporalAhead * from_stride)), 0, 3);
    nontemporal_lines(to, from, lines);
    from = moved(from, from_stride);
    to = moved(to, to_stride);
  }
}

/// Orders the non-temporal stores before the stores that the caller makes next: a core that sees one of the
/// later stores sees the copied lines. Where the copy made ordinary stores, the release of the caller's
/// publication orders them.
inline void nontemporal_fence() noexcept {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace stria::datatype::kernel
