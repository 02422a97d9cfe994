// The payload of the checks: every byte depends on a seed and on its position in the packed stream, so a byte
// that is lost, moved, or left from an earlier message is seen.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stria::bench {

/// The byte at `position` of the stream `seed`. Never 0, so that untouched memory differs.
inline std::byte pattern_at(std::uint64_t seed, std::uint64_t position) noexcept {
  std::uint64_t x = (position + 1) * 0x9e3779b97f4a7c15ULL + seed * 0xc2b2ae3d27d4eb4fULL;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9ULL;
  return static_cast<std::byte>((x >> 56) % 255 + 1);
}

inline void fill_pattern(std::byte* to, std::size_t bytes, std::uint64_t seed,
                         std::uint64_t position = 0) noexcept {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = pattern_at(seed, position + i);
}

inline bool has_pattern(const std::byte* at, std::size_t bytes, std::uint64_t seed,
                        std::uint64_t position = 0) noexcept {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (at[i] != pattern_at(seed, position + i)) return false;
  }
  return true;
}

}  // namespace stria::bench
