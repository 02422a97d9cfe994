// The cache line as shared memory sees it, and the two pauses a waiting core can take.
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

/// A short pause inside a spin loop.
inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();  // <immintrin.h> is half of what a source of the library would read
#else
  asm volatile("" ::: "memory");
#endif
}

}  // namespace stria
