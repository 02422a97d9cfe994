// Blocks at irregular places to or from a stream. The places are known ahead, so the lines are asked for
// ahead: a block whose length was guessed wrong throws away the loads that the processor had begun behind it,
// but not what was asked for.
#pragma once

#include "datatype/kernels/block.hpp"

namespace stria::datatype::kernel {

inline constexpr std::int64_t kListAhead = 16;  // entries

template <bool kPack, class B>
[[gnu::always_inline]] inline void move_block(const B& block, Address memory, Address stream) noexcept {
  if constexpr (kPack)
    block.copy(stream, memory);
  else
    block.copy(memory, stream);
}

/// Blocks of one size at memory + places[0 .. count), stream places stream_stride apart. In order.
template <bool kPack, class B, class Int>
[[gnu::always_inline]] inline void indexed(B block, Address memory, const Int* places, std::int64_t count,
                                           Address stream, std::int64_t stream_stride) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    move_block<kPack>(block, moved(memory, places[i]), stream);
    stream = moved(stream, stream_stride);
  }
}

/// Blocks of starts[i+1] - starts[i] bytes at memory + places[i], i in [0, count). In order.
template <bool kPack, std::size_t Vector, class Int>
[[gnu::always_inline]] inline void blocks(Address memory, const Int* places, const Int* starts,
                                          std::int64_t count, Address stream) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    if (i + kListAhead < count)
      __builtin_prefetch(at(moved(memory, places[i + kListAhead])), kPack ? 0 : 1, 3);
    const std::int64_t bytes = starts[i + 1] - starts[i];
    const Address place = moved(memory, places[i]);
    copy_one<Vector>(kPack ? stream : place, kPack ? place : stream, bytes);
    stream = moved(stream, bytes);
  }
}

}  // namespace stria::datatype::kernel
