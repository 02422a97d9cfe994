// Blocks at equal distances to blocks at equal distances; the packed stream is the side whose distance is the
// block's size.
//
// Where every element misses the cache, what counts is how many misses are under way at once. The processor
// finds that by itself in a loop as plain as this one, as long as the loop has no branch to guess wrong.
// There is one exception: distances that are multiples of 512 map to few sets of the cache, where lines under
// way wait for each other. Asking for them in the second-level cache, a little ahead, saves 10 to 30% then;
// further ahead, or into the first level, they throw each other out again. A store has the same trouble but
// gains nothing (docs/tuning.md, Kernels).
#pragma once

#include "datatype/kernels/block.hpp"

namespace stria::datatype::kernel {

inline constexpr std::int64_t kAhead = 8;  // elements; 16 and 32 measured slower with 8-way sets

/// Whether elements this far apart crowd in few sets of a first-level cache.
[[gnu::always_inline]] inline bool crowds(std::int64_t stride) noexcept {
  return (stride & 511) == 0 && (stride >= 1024 || stride <= -1024);
}

/// Hides where a value comes from, so that four addresses stay four sums of a base: the compiler would make
/// them a chain of additions, each waiting for the one before, and halve the rate of a loop that hits the
/// cache.
[[gnu::always_inline]] inline std::int64_t opaque(std::int64_t v) noexcept {
  asm("" : "+r"(v));
  return v;
}

/// Four blocks a round. A constant distance (`kDense`: the block's size) costs no register and no addition.
template <bool kDenseFrom, bool kDenseTo, class B>
[[gnu::always_inline]] inline void in_fours(B block, Address from, std::int64_t from_stride, Address to,
                                            std::int64_t to_stride, std::int64_t count) noexcept {
  const std::int64_t from_2 = kDenseFrom ? 2 * from_stride : opaque(2 * from_stride);
  const std::int64_t from_3 = kDenseFrom ? 3 * from_stride : opaque(3 * from_stride);
  const std::int64_t to_2 = kDenseTo ? 2 * to_stride : opaque(2 * to_stride);
  const std::int64_t to_3 = kDenseTo ? 3 * to_stride : opaque(3 * to_stride);
  for (; count >= 4; count -= 4) {
    block.copy(to, from);
    block.copy(moved(to, to_stride), moved(from, from_stride));
    block.copy(moved(to, to_2), moved(from, from_2));
    block.copy(moved(to, to_3), moved(from, from_3));
    from = moved(from, 4 * from_stride);
    to = moved(to, 4 * to_stride);
  }
  for (; count > 0; --count) {
    block.copy(to, from);
    from = moved(from, from_stride);
    to = moved(to, to_stride);
  }
}

/// In order, each block complete before the next begins: where destinations overlap, the later one wins.
template <class B>
[[gnu::always_inline]] inline void strided(B block, Address from, std::int64_t from_stride, Address to,
                                           std::int64_t to_stride, std::int64_t count) noexcept {
  if (crowds(from_stride)) {
    const std::int64_t ahead = kAhead * from_stride;
    for (; count > kAhead; --count) {
      __builtin_prefetch(at(moved(from, ahead)), 0, 2);
      block.copy(to, from);
      from = moved(from, from_stride);
      to = moved(to, to_stride);
    }
  }
  const std::int64_t bytes = block.bytes();
  if (to_stride == bytes)
    in_fours<false, true>(block, from, from_stride, to, bytes, count);
  else if (from_stride == bytes)
    in_fours<true, false>(block, from, bytes, to, to_stride, count);
  else
    in_fours<false, false>(block, from, from_stride, to, to_stride, count);
}

}  // namespace stria::datatype::kernel
