// The cache line as shared memory sees it.
#pragma once

#include <cstddef>

namespace stria {

/// Ours, not std's: std::hardware_destructive_interference_size depends on compiler flags, and shared memory
/// needs one value in every process.
inline constexpr std::size_t kCacheLine = 64;

/// Rounds up to a multiple of `align`, which must be a power of two.
constexpr std::size_t align_up(std::size_t value, std::size_t align) noexcept {
  return (value + align - 1) & ~(align - 1);
}

}  // namespace stria
