// Loops over blocks at irregular places, which copy to or from a stream, or to the irregular places of
// another list. There are two kinds of loops:
//
//   indexed   blocks of one size: the loop tests no size
//   blocks    blocks of several lengths: the processor predicts the branches on the length. After a wrong
//             prediction the loads begun behind it are lost, but prefetches are not, so lines are prefetched
//
// (A loop without such branches begins enough loads by itself: prefetching costs time where the
// lines are in the cache, and gained nothing dependable where they are not. The exception is blocks of two
// lines beyond the caches: avx512.cpp. Figures: docs/notebook/kernels.md.)
#pragma once

#include "datatype/kernels/block.hpp"

namespace stria::datatype::kernel {

/// Prefetch distances in entries of the list: kListAhead in blocks(), kPairsAhead for blocks of two lines.
inline constexpr std::int64_t kListAhead = 16, kPairsAhead = 32;

/// Where block i is read and written when one side is a list and the other a stream that advances. ask_for()
/// prefetches the first line of block i of the list, ask_for_two() the first two lines.
template <bool kPack, class Int>
struct StreamEnds {
  /// Whether ask_for_two() is of use: only where a list is packed into a stream.
  static constexpr bool kCanAskForTwo = kPack;
  Address memory;
  const Int* places;
  Address stream;

  [[gnu::always_inline]] Address place(std::int64_t i) const noexcept { return moved(memory, places[i]); }
  [[gnu::always_inline]] Address from(std::int64_t i) const noexcept { return kPack ? place(i) : stream; }
  [[gnu::always_inline]] Address to(std::int64_t i) const noexcept { return kPack ? stream : place(i); }
  [[gnu::always_inline]] void ask_for(std::int64_t i) const noexcept {
    __builtin_prefetch(at(place(i)), kPack ? 0 : 1, 3);
  }
  [[gnu::always_inline]] void ask_for_two(std::int64_t i) const noexcept {
    __builtin_prefetch(at(place(i)), 0, 3);
    __builtin_prefetch(at(moved(place(i), kLine)), 0, 3);
  }
  [[gnu::always_inline]] void advance(std::int64_t bytes) noexcept { stream = moved(stream, bytes); }
};

/// Where block i is read and written when both sides are lists; block i has the same length on both sides.
template <class Int>
struct ListEnds {
  static constexpr bool kCanAskForTwo = false;
  Address source;
  const Int* source_places;
  Address sink;
  const Int* sink_places;

  [[gnu::always_inline]] Address from(std::int64_t i) const noexcept {
    return moved(source, source_places[i]);
  }
  [[gnu::always_inline]] Address to(std::int64_t i) const noexcept { return moved(sink, sink_places[i]); }
  [[gnu::always_inline]] void ask_for(std::int64_t i) const noexcept {
    __builtin_prefetch(at(from(i)), 0, 3);
    __builtin_prefetch(at(to(i)), 1, 3);
  }
  [[gnu::always_inline]] void advance(std::int64_t /*bytes*/) const noexcept {}
};

/// Copies `count` blocks of one size, in order; in a stream they are `stream_stride` apart.
template <class B, class Ends>
[[gnu::always_inline]] inline void indexed(B block, Ends ends, std::int64_t count,
                                           std::int64_t stream_stride) noexcept {
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < count; ++i) {
    block.copy(ends.to(i), ends.from(i));
    ends.advance(stream_stride);
  }
}

/// Copies blocks of starts[i+1] - starts[i] bytes, i in [0, count), in order.
template <std::size_t Vector, class Ends, class Int>
[[gnu::always_inline]] inline void blocks(Ends ends, const Int* starts, std::int64_t count) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    if (i + kListAhead < count) ends.ask_for(i + kListAhead);
    const std::int64_t bytes = starts[i + 1] - starts[i];
    copy_one<Vector>(ends.to(i), ends.from(i), bytes);
    ends.advance(bytes);
  }
}

}  // namespace stria::datatype::kernel
