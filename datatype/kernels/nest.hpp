// Two nested loops over blocks, both sides at equal distances in both loops. The order of the loops is free
// where no two blocks of the destination overlap, so it is chosen for the memory:
//
//   rows     the inner loop as it is, when no side is better off otherwise
//   swapped  the other loop inside, when both sides have their neighbours there, or the inner one is short
//   tiles    when one side has its neighbours in the inner loop and the other in the outer one: squares
//
// Tiles are what a transposition takes. The sides of a square are cache lines, so each line of both sides is
// touched once; panels of 64 x 64 blocks keep their pages in the translation buffer; within a panel the rows
// of the destination are written through, because stores to crowded sets cost more than loads.
#pragma once

#include <algorithm>
#include <utility>

#include "datatype/kernels/block.hpp"

namespace stria::datatype::kernel {

/// Block (o, i) goes from `from` + o * from_outer + i * from_inner to the same of `to`; typemap order is o,
/// then i.
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

/// Whether no two blocks of the destination overlap, as far as can be seen at once.
inline bool disjoint(const Nest& n) noexcept {
  const std::int64_t a = magnitude(n.to_inner), b = magnitude(n.to_outer);
  // The products fit: both strides and counts come from a layout whose span fits 63 bits.
  return (a >= n.bytes && b >= a * (n.inner - 1) + n.bytes) ||
         (b >= n.bytes && a >= b * (n.outer - 1) + n.bytes);
}

inline constexpr std::int64_t kPanel = 64;      // blocks; 64 pages of one side and 64 of the other
inline constexpr std::int64_t kShortInner = 8;  // blocks; a loop of fewer is mostly its start

inline Order order_of(const Nest& n) noexcept {
  if (n.outer == 1 || n.inner == 1) return n.outer == 1 ? Order::rows : Order::swapped;
  const auto near = [](std::int64_t stride) { return magnitude(stride) < kLine; };
  const bool reads_across = !near(n.from_inner) && near(n.from_outer);
  const bool writes_across = !near(n.to_inner) && near(n.to_outer);
  const bool short_inner = n.inner < kShortInner && n.outer > n.inner;
  if ((!reads_across && !writes_across && !short_inner) || !disjoint(n)) return Order::rows;
  // Few rows of many columns are read or written along their lines as they are.
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

/// The loop over one row, as a function of the processor's table: kept out of line, it is compiled once for a
/// class of blocks and not once for every place in here.
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

/// No square: for blocks that are never turned, a line or more, and what is left when squares of 2 are done.
struct NoSquare {
  static constexpr std::int64_t kSide = 0;
};

/// A square so small that its lines stay meanwhile: block by block.
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

/// A square of N x N blocks: read along the outer loop, where the source has its neighbours, written along
/// the inner one. `Less` is for what is too narrow for it.
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

/// What squares do not fill of a panel, by its longer side.
template <Row kRow>
[[gnu::always_inline]] inline void strip(const Nest& n, std::int64_t o, std::int64_t i, std::int64_t outer,
                                         std::int64_t inner) noexcept {
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

/// A panel in squares; the strip beside them that is long by squares half as wide, and so on: a fragment of a
/// message often holds no more than a few columns, and by rows each of their lines would come again for each.
template <Row kRow, class B, class Square>
[[gnu::always_inline]] inline void panel(B block, const Nest& n, std::int64_t o, std::int64_t i,
                                         std::int64_t outer, std::int64_t inner) noexcept {
  constexpr std::int64_t kSide = Square::kSide;
  if constexpr (kSide == 0) {
    strip<kRow>(n, o, i, outer, inner);
  } else {
    const std::int64_t whole_o = outer / kSide * kSide, whole_i = inner / kSide * kSide;
    for (std::int64_t a = o; a < o + whole_o; a += kSide)
      for (std::int64_t b = i; b < i + whole_i; b += kSide)
        Square::copy(block, n, moved(n.from, a * n.from_outer + b * n.from_inner),
                     moved(n.to, a * n.to_outer + b * n.to_inner));
    const std::int64_t rest_o = outer - whole_o, rest_i = inner - whole_i;
    if (inner >= outer) {
      strip<kRow>(n, o, i + whole_i, whole_o, rest_i);
      if (rest_o > 0) panel<kRow, B, typename Square::Less>(block, n, o + whole_o, i, rest_o, inner);
    } else {
      strip<kRow>(n, o + whole_o, i, rest_o, whole_i);
      if (rest_i > 0) panel<kRow, B, typename Square::Less>(block, n, o, i + whole_i, outer, rest_i);
    }
  }
}

template <Row kRow, class B, class Square>
[[gnu::always_inline]] inline void tiles(B block, const Nest& n) noexcept {
  for (std::int64_t o = 0; o < n.outer; o += kPanel)
    for (std::int64_t i = 0; i < n.inner; i += kPanel)
      panel<kRow, B, Square>(block, n, o, i, std::min(kPanel, n.outer - o), std::min(kPanel, n.inner - i));
}

/// A swapped nest with a short loop outside: in stretches, so that the lines of one stretch stay for the next
/// round of it.
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

/// `Square` is used where it fits, else the plain one.
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
