// Copies between a caller's memory and whole lines that another core polls, or has written: one side is the
// start of a line. Each line is two aligned vectors, where the processor has them. A store that crosses into
// the next line waits for both, and the queue of stores holds half as many lines when stores have 16 bytes
// (docs/notebook/shm.md, kLinesLeast).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/processor.hpp"
#include "hw/pio.hpp"

namespace stria::hw {

/// The words in which the bits of `mask` have the values of `value`.
struct WordSign {
  std::uint64_t mask, value;
  bool is_of(std::uint64_t word) const noexcept { return (word & mask) == value; }
};

inline std::uint64_t load_unaligned(const std::byte* at) noexcept {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}
/// The first word of a line of which only `bytes` bytes are written; the rest is 0.
inline std::uint64_t first_word(const std::byte* line, std::uint32_t bytes) noexcept {
  if (bytes >= sizeof(std::uint64_t)) return load_unaligned(line);
  std::uint64_t word = 0;
  std::memcpy(&word, line, bytes);
  return word;
}

#if defined(__x86_64__)
inline bool uses_avx2() noexcept {
  return known_processor().vectors >= Vectors::avx2;
}

[[gnu::target("avx2"), gnu::noinline]] inline bool store_lines_avx2(std::byte* to, const std::byte* from,
                                                                    std::uint32_t bytes,
                                                                    WordSign sign) noexcept {
  const __m256i mask = _mm256_set_epi64x(0, 0, 0, static_cast<long long>(sign.mask));
  const __m256i value = _mm256_set_epi64x(-1, -1, -1, static_cast<long long>(sign.value));
  __m256i seen = _mm256_setzero_si256();
  for (std::uint32_t lines = bytes / kCacheLine; lines > 0; --lines, to += kCacheLine, from += kCacheLine) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + 32));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), low);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + 32), high);
    seen = _mm256_or_si256(seen, _mm256_cmpeq_epi64(_mm256_and_si256(low, mask), value));
  }
  const std::uint32_t rest = bytes % kCacheLine;
  copy_line(to, from, rest);
  return _mm256_testz_si256(seen, seen) == 0 || (rest > 0 && sign.is_of(first_word(from, rest)));
}
[[gnu::target("avx2"), gnu::noinline]] inline void load_lines_avx2(std::byte* to, const std::byte* from,
                                                                   std::uint32_t bytes) noexcept {
  for (std::uint32_t lines = bytes / kCacheLine; lines > 0; --lines, to += kCacheLine, from += kCacheLine) {
    const __m256i low = _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
    const __m256i high = _mm256_load_si256(reinterpret_cast<const __m256i*>(from + 32));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32), high);
  }
  copy_line(to, from, bytes % kCacheLine);
}
#endif

/// Copies to whole lines: `to` is the start of a line. True: a line may begin with a word of `sign`. A copy
/// with AVX2 compares the first word of each line; any other copy returns true.
inline bool store_lines(std::byte* to, const std::byte* from, std::uint32_t bytes,
                        [[maybe_unused]] WordSign sign) noexcept {
#if defined(__x86_64__)
  if (uses_avx2()) [[likely]]
    return store_lines_avx2(to, from, bytes, sign);
#endif
  std::memcpy(to, from, bytes);
  return true;
}
/// Copies out of whole lines: `from` is the start of a line.
inline void load_lines(std::byte* to, const std::byte* from, std::uint32_t bytes) noexcept {
#if defined(__x86_64__)
  if (uses_avx2()) [[likely]]
    return load_lines_avx2(to, from, bytes);
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace stria::hw
