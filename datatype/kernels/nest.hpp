// Two nested loops over blocks that on each side are equally far apart in each loop. A row is what the inner
// loop copies. Where no two blocks of the destination overlap, the loops may run in any order, and the order
// is chosen by where each side has its neighbours, that is, blocks less than a cache line apart:
//
//   rows     the loops as they are, when no other order is better for a side
//   swapped  the outer loop inside, when both sides have their neighbours there, or the inner loop is short
//   tiles    squares, when one side has its neighbours in the inner loop and the other in the outer loop
//
// Tiles are for transpositions. The sides of a square are cache lines, so each line of both sides is touched
// once. Panels of 64 x 64 blocks keep their pages in the translation buffer. Within a panel the rows of the
// destination are written from end to end, because stores to crowded sets of the cache cost more than loads.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "datatype/kernels/block.hpp"

namespace stria::datatype::kernel {

/// Block (o, i), of `bytes` bytes, is copied from `from` + o * from_outer + i * from_inner to `to` + o *
/// to_outer + i * to_inner. In typemap order i changes faster than o.
struct Nest {
  Address from;
  std::int64_t from_outer, from_inner;
  Address to;
  std::int64_t to_outer, to_inner;
  std::int64_t outer, inner;
  std::int64_t bytes;
};

enum class Order : std::uint8_t { rows, swapped, tiles, swapped_tiles };

[[gnu::always_inline]] inline std::int64_t magnitude(std::int64_t v) noexcept {
  return v < 0 ? -v : v;
}

/// Whether no two blocks of the destination overlap. A quick test: false also for some nests without overlap.
inline bool disjoint(const Nest& n) noexcept {
  const std::int64_t a = magnitude(n.to_inner), b = magnitude(n.to_outer);
  // The products fit: both strides and counts come from a layout whose span fits 63 bits.
  return (a >= n.bytes && b >= a * (n.inner - 1) + n.bytes) ||
         (b >= n.bytes && a >= b * (n.outer - 1) + n.bytes);
}

inline constexpr std::int64_t kPanel = 64;      // blocks; 64 pages of one side and 64 of the other
inline constexpr std::int64_t kShortInner = 8;  // blocks; starting a shorter loop is most of its time

inline Order order_of(const Nest& n) noexcept {
  if (n.outer == 1 || n.inner == 1) return n.outer == 1 ? Order::rows : Order::swapped;
  const auto near = [](std::int64_t stride) { return magnitude(stride) < kLine; };
  const bool reads_across = !near(n.from_inner) && near(n.from_outer);
  const bool writes_across = !near(n.to_inner) && near(n.to_outer);
  const bool short_inner = n.inner < kShortInner && n.outer > n.inner;
  if ((!reads_across && !writes_across && !short_inner) || !disjoint(n)) return Order::rows;
  // When an inner loop of fewer than 4 blocks is swapped, it makes few long rows, which are read or written
  // along their lines without squares.
  if (n.bytes < kLine && (n.inner >= 4 || n.inner >= n.outer)) {
    if (reads_across && near(n.to_inner)) return Order::tiles;
    if (writes_across && near(n.from_inner)) return Order::swapped_tiles;
  }
  return reads_across || writes_across || short_inner ? Order::swapped : Order::rows;
}

[[gnu::always_inline]] inline Nest swap_loops(Nest n) noexcept {
  std::swap(n.from_outer, n.from_inner);
  std::swap(n.to_outer, n.to_inner);
  std::swap(n.outer, n.inner);
  return n;
}

/// The loop over one row, as a function of the kernel table (Kernels::Strided). It is called and not inlined,
/// so it is compiled once for each class of blocks, and not once for each call in this file.
using Row = void (*)(Address from, std::int64_t from_stride, Address to, std::int64_t to_stride,
                     std::int64_t count, std::int64_t bytes) noexcept;

template <Row kRow>
[[gnu::always_inline]] inline void rows(const Nest& n) noexcept {
  Address from = n.from, to = n.to;
  for (std::int64_t o = 0; o < n.outer; ++o) {
    kRow(from, n.from_inner, to, n.to_inner, n.inner, n.bytes);
    from = moved(from, n.from_outer);
    to = moved(to, n.to_outer);
  }
}

/// No square: for blocks of a line or more, which are never transposed, and for what squares of 2 leave.
struct NoSquare {
  static constexpr std::int64_t kSide = 0;
};

/// A square of N x N blocks that is transposed block by block. Its cache lines stay in the cache meanwhile,
/// because there are few. `Less` is the square for strips that are narrower than N.
template <class B, std::int64_t N>
struct SmallSquare {
  static constexpr std::int64_t kSide = N;
  using Less = std::conditional_t<(N > 2), SmallSquare<B, 2>, NoSquare>;
  [[gnu::always_inline]] static void copy(B block, const Nest& n, Address from, Address to) noexcept {
    for (std::int64_t o = 0; o < N; ++o)
      for (std::int64_t i = 0; i < N; ++i)
        block.copy(moved(to, o * n.to_outer + i * n.to_inner),
                   moved(from, i * n.from_inner + o * n.from_outer));
  }
};

/// A square of N x N blocks that is transposed through a buffer: it is read along the outer loop, where the
/// source has its neighbours, and written along the inner loop. `Less` is the square for strips narrower than
/// N; kBytes is the room for a block in the buffer.
template <class B, std::int64_t N, std::int64_t kBytes>
struct PlainSquare {
  static constexpr std::int64_t kSide = N;
  using Less = std::conditional_t<(N > 4), SmallSquare<B, 4>, SmallSquare<B, 2>>;
  static bool fits(const Nest&) noexcept { return true; }
  [[gnu::always_inline]] static void copy(B block, const Nest& n, Address from, Address to) noexcept {
    alignas(64) std::byte buffer[N * N * kBytes];
    const auto turned = reinterpret_cast<Address>(&buffer[0]);
    for (std::int64_t i = 0; i < N; ++i)
      for (std::int64_t o = 0; o < N; ++o)
        block.copy(moved(turned, (o * N + i) * kBytes), moved(from, i * n.from_inner + o * n.from_outer));
    for (std::int64_t o = 0; o < N; ++o)
      for (std::int64_t i = 0; i < N; ++i)
        block.copy(moved(to, o * n.to_outer + i * n.to_inner), moved(turned, (o * N + i) * kBytes));
  }
};

/// A rectangle of a nest: blocks [o, o + outer) x [i, i + inner).
struct Rectangle {
  std::int64_t o, i, outer, inner;
};

/// Copies a strip of a panel that squares do not fill, by loops along its longer side.
template <Row kRow>
[[gnu::always_inline]] inline void strip(const Nest& n, Rectangle of) noexcept {
  const auto [o, i, outer, inner] = of;
  if (outer <= 0 || inner <= 0) return;
  const bool along = inner >= outer;
  const std::int64_t from_step = along ? n.from_outer : n.from_inner,
                     to_step = along ? n.to_outer : n.to_inner;
  const std::int64_t from_stride = along ? n.from_inner : n.from_outer,
                     to_stride = along ? n.to_inner : n.to_outer;
  Address from = moved(n.from, o * n.from_outer + i * n.from_inner);
  Address to = moved(n.to, o * n.to_outer + i * n.to_inner);
  for (std::int64_t k = std::min(outer, inner); k > 0; --k) {
    kRow(from, from_stride, to, to_stride, std::max(outer, inner), n.bytes);
    from = moved(from, from_step);
    to = moved(to, to_step);
  }
}

/// Copies a panel in squares, and of the two strips beside them the longer one in smaller squares, and so on.
/// A fragment of a message often holds only a few columns; copied by rows, each cache line would be fetched
/// again for each of these columns.
template <Row kRow, class B, class Square>
[[gnu::always_inline]] inline void panel(B block, const Nest& n, Rectangle of) noexcept {
  constexpr std::int64_t kSide = Square::kSide;
  if constexpr (kSide == 0) {
    strip<kRow>(n, of);
  } else {
    const auto [o, i, outer, inner] = of;
    const std::int64_t whole_o = outer / kSide * kSide, whole_i = inner / kSide * kSide;
    for (std::int64_t a = o; a < o + whole_o; a += kSide)
      for (std::int64_t b = i; b < i + whole_i; b += kSide)
        Square::copy(block, n, moved(n.from, a * n.from_outer + b * n.from_inner),
                     moved(n.to, a * n.to_outer + b * n.to_inner));
    const std::int64_t rest_o = outer - whole_o, rest_i = inner - whole_i;
    if (inner >= outer) {
      strip<kRow>(n, {o, i + whole_i, whole_o, rest_i});
      if (rest_o > 0) panel<kRow, B, typename Square::Less>(block, n, {o + whole_o, i, rest_o, inner});
    } else {
      strip<kRow>(n, {o + whole_o, i, rest_o, whole_i});
      if (rest_i > 0) panel<kRow, B, typename Square::Less>(block, n, {o, i + whole_i, outer, rest_i});
    }
  }
}

template <Row kRow, class B, class Square>
[[gnu::always_inline]] inline void tiles(B block, const Nest& n) noexcept {
  for (std::int64_t o = 0; o < n.outer; o += kPanel)
    for (std::int64_t i = 0; i < n.inner; i += kPanel)
      panel<kRow, B, Square>(block, n, {o, i, std::min(kPanel, n.outer - o), std::min(kPanel, n.inner - i)});
}

/// Copies with the loops swapped, kPanel rounds of the original outer loop at a time, so that the cache lines
/// of these rounds stay in the cache for the next round of the other loop.
template <Row kRow>
[[gnu::always_inline]] inline void swapped(const Nest& n) noexcept {
  for (std::int64_t o = 0; o < n.outer; o += kPanel) {
    Nest part = n;
    part.from = moved(n.from, o * n.from_outer);
    part.to = moved(n.to, o * n.to_outer);
    part.outer = std::min(kPanel, n.outer - o);
    rows<kRow>(swap_loops(part));
  }
}

/// Copies a nest in the best order. Transposed sides are copied by `Square` where it fits, else by `Plain`.
template <Row kRow, class B, class Square, class Plain>
[[gnu::always_inline]] inline void nest([[maybe_unused]] B block, const Nest& n) noexcept {
  const Order order = order_of(n);
  if constexpr (Plain::kSide > 0) {
    if (order == Order::tiles || order == Order::swapped_tiles) {
      const Nest turned = order == Order::tiles ? n : swap_loops(n);
      return Square::fits(turned) ? tiles<kRow, B, Square>(block, turned)
                                  : tiles<kRow, B, Plain>(block, turned);
    }
  }
  return order == Order::rows ? rows<kRow>(n) : swapped<kRow>(n);
}

}  // namespace stria::datatype::kernel
