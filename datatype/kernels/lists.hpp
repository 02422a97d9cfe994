// Blocks at irregular places, to or from a stream or to irregular places of another list. Two kinds of loops:
//
//   indexed   blocks of one size: nothing is asked per block
//   blocks    blocks of several lengths, which are guessed: a wrong guess throws away the loads that the
//             processor had begun behind it, but not what was asked for, so the lines are asked for ahead
//
// (Loops that guess nothing begin enough loads by themselves: asking ahead took 0.2 ns a block where the
// cache has the lines and gained nothing dependable where it has not; but for blocks of two lines, beyond the
// caches: avx512.cpp. docs/notebook/kernels.md.)
#pragma once

#include "datatype/kernels/block.hpp"

namespace stria::datatype::kernel {

inline constexpr std::int64_t kListAhead = 16, kPairsAhead = 32;  // entries

/// Where block i is read and written: a list on one side, on the other a stream that moves on.
template <bool kPack, class Int>
struct StreamEnds {
  static constexpr bool kReadsList = kPack;
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

/// Two lists whose blocks i are of one length.
template <class Int>
struct ListEnds {
  static constexpr bool kReadsList = false;
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

/// `count` blocks of one size, stream places `stream_stride` apart. In order.
template <class B, class Ends>
[[gnu::always_inline]] inline void indexed(B block, Ends ends, std::int64_t count,
                                           std::int64_t stream_stride) noexcept {
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < count; ++i) {
    block.copy(ends.to(i), ends.from(i));
    ends.advance(stream_stride);
  }
}

/// Blocks of starts[i+1] - starts[i] bytes, i in [0, count). In order.
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
