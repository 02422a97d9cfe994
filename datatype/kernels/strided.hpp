// The loop over blocks that are equally far apart on each side. A packed stream is a side whose distance is
// the size of a block.
//
// Where every element misses the cache, the time depends on how many misses are in flight at once. A
// processor begins as many misses as its queues hold, and for most distances that is best. Where the distance
// is a multiple of 512, the lines of the elements crowd in few sets of the first-level cache (in one set,
// from 4096 on), and a set holds eight lines. With dozens of misses in flight, a line is evicted before the
// access that it was fetched for, and fetched again. Software prefetch makes this worse. It helps to let
// fewer misses begin: a few stores to a line on the stack after each element fill the store queue, so that
// about ten elements are in flight. How many stores that takes depends on the
// length of the queue, and is measured (hw/machine.hpp). Columns of large matrices gain much by it. Where
// several elements lie in one page, the processor detects the distance and fetches ahead, and the stores only
// cost time. (Measured packing and unpacking between two cores; figures in docs/notebook/kernels.md.)
//
// The functions have six parameters, those of Kernels::Strided, each in a register.
#pragma once

#include <algorithm>
#include <bit>

#include "base/processor.hpp"
#include "datatype/kernels/block.hpp"

namespace stria::datatype::kernel {

inline constexpr std::int64_t kWays = 8;  // lines that a set of the first-level cache holds, at least
/// Addresses so many bytes apart fall into the same set of the first-level cache: 64 sets of 64 bytes.
inline constexpr std::int64_t kSetsSpan = 4096;
inline constexpr std::int64_t kPage = 4096;
// Elements of one call, each in a page of its own, that the translation buffer holds. Messages are packed in
// four steps, and a buffer of 3072 entries holds the pages of two arrays of four times as many elements.
inline constexpr std::int64_t kFewPages = 384;

/// Number of filler stores to put after each element, for one side whose elements are `stride` apart; 0 for
/// most strides. `reads`: the side is the source. `count` is the number of elements of one call: long
/// messages are packed and unpacked in steps.
[[gnu::always_inline]] inline int fillers_for(std::int64_t stride, std::int64_t count, bool reads,
                                              Pacing pacing) noexcept {
  if ((stride & 511) != 0 || count <= kWays || pacing == Pacing::off) return 0;
  const std::int64_t distance = stride < 0 ? -stride : stride;
  const std::int64_t grain = std::min(distance & -distance, kSetsSpan);
  if (grain == 0 || count <= kWays * kSetsSpan >> std::countr_zero(static_cast<std::uint64_t>(grain)))
    return 0;  // the cache holds all their lines
  if (pacing == Pacing::many) {
    if (grain == kSetsSpan && reads) return distance > kPage ? 8 : 5;
    if (grain == kSetsSpan) return 10;
    if (grain == 2048) return reads ? 5 : 8;
    if (reads && (distance < kPage || count <= kFewPages)) return 0;
    return distance < kPage && count > 512 ? 0 : 3;
  }
  if (grain == kSetsSpan) return reads ? 5 : 3;
  if (grain == 2048) return 3;
  if (distance < kPage && count > 512) return 0;  // the processor itself fetches the next ones of a page
  if (distance >= kPage && count > kFewPages) return reads ? 3 : 1;
  return reads ? 0 : static_cast<int>(grain / 512);
}

/// Copies `count` elements, with kFillers stores after each that only take places in the store queue. (From
/// nine on, the stores go to two lines, and so take longer to leave the queue.)
template <int kFillers, class B>
[[gnu::always_inline]] inline void paced(B block, Address from, std::int64_t from_stride, Address to,
                                         std::int64_t to_stride, std::int64_t count) noexcept {
  [[maybe_unused]] alignas(64) volatile std::int64_t filler[16];
  for (; count > 0; --count) {
    block.copy(to, from);
    for (int k = 0; k < kFillers; ++k) filler[k] = count;
    from = moved(from, from_stride);
    to = moved(to, to_stride);
  }
}

/// Hides from the compiler where a value comes from, so that four addresses stay four sums of a base: the
/// compiler would make a chain of additions, each waiting for the one before, and halve the rate of a loop
/// that hits the cache.
[[gnu::always_inline]] inline std::int64_t opaque(std::int64_t v) noexcept {
  asm("" : "+r"(v));
  return v;
}

/// Copies four blocks a round. kDenseFrom, kDenseTo: the distance on that side is the block's size; as a
/// constant it costs no register and no addition.
template <bool kDenseFrom, bool kDenseTo, class B>
[[gnu::always_inline]] inline void in_fours(B block, Address from, std::int64_t from_stride, Address to,
                                            std::int64_t to_stride, std::int64_t count) noexcept {
  if (count >=
      4) {  // then these products are places inside, and fit; the distance of one element may be any number
    const std::int64_t from_2 = kDenseFrom ? 2 * from_stride : opaque(2 * from_stride);
    const std::int64_t from_3 = kDenseFrom ? 3 * from_stride : opaque(3 * from_stride);
    const std::int64_t to_2 = kDenseTo ? 2 * to_stride : opaque(2 * to_stride);
    const std::int64_t to_3 = kDenseTo ? 3 * to_stride : opaque(3 * to_stride);
    for (; count >= 4; count -= 4) {
      block.copy(to, from);
      block.copy(moved(to, to_stride), moved(from, from_stride));
      block.copy(moved(to, to_2), moved(from, from_2));
      block.copy(moved(to, to_3), moved(from, from_3));
      from = moved(moved(from, from_2), from_2);
      to = moved(moved(to, to_2), to_2);
    }
  }
  for (; count > 0; --count) {
    block.copy(to, from);
    from = moved(from, from_stride);
    to = moved(to, to_stride);
  }
}

/// Copies `count` blocks in order, each complete before the next begins: where destinations overlap, the
/// later block wins.
template <class B>
[[gnu::always_inline]] inline void strided(B block, Address from, std::int64_t from_stride, Address to,
                                           std::int64_t to_stride, std::int64_t count) noexcept {
  if constexpr (B::kShort) {
    // known_processor() has its answers here: copies come through kernels(), which asks the processor.
    switch (std::max(fillers_for(from_stride, count, true, known_processor().pacing),
                     fillers_for(to_stride, count, false, known_processor().pacing))) {
      case 0:
        break;
      case 1:
        return paced<1>(block, from, from_stride, to, to_stride, count);
      case 2:
        return paced<2>(block, from, from_stride, to, to_stride, count);
      case 3:
        return paced<3>(block, from, from_stride, to, to_stride, count);
      case 5:
        return paced<5>(block, from, from_stride, to, to_stride, count);
      case 8:
        return paced<8>(block, from, from_stride, to, to_stride, count);
      default:
        return paced<10>(block, from, from_stride, to, to_stride, count);
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
