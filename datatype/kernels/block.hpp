// How one block is copied, by its class of sizes: a compile-time size, two moves that overlap, a short loop
// of vectors, or a long run. A kernel is a loop over blocks of one class, so it tests no size per block.
//
// Everything is forced inline, so the code is compiled for the instruction set of the function that it is
// inlined into (kernels/avx2.cpp and the like).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "datatype/address.hpp"

namespace stria::datatype::kernel {

/// One move of N bytes between addresses of any alignment. A move of 32 or 64 bytes is one vector register
/// where the instruction set of the caller has registers of that size.
template <std::size_t N>
struct Unit {
  [[gnu::always_inline]] static void copy(Address to, Address from) noexcept {
    std::memcpy(at(to), at(from), N);
  }
};
template <std::size_t N>
requires(N > 16) struct Unit<N> {
  using Vector [[gnu::vector_size(N), gnu::aligned(1), gnu::may_alias]] = char;
  [[gnu::always_inline]] static void copy(Address to, Address from) noexcept {
    *reinterpret_cast<Vector*>(to) =
        *reinterpret_cast<const Vector*>(from);  // NOLINT(performance-no-int-to-ptr)
  }
};

/// Copies 4 N contiguous bytes by four moves of N > 8 bytes, all loads before the stores. (In turns, a load
/// waits for the store before it where the last 12 bits of their addresses are alike.)
template <std::size_t N>
[[gnu::always_inline]] inline void copy_four(Address to, Address from) noexcept {
  using Vector [[gnu::vector_size(N), gnu::aligned(1), gnu::may_alias]] = char;
  constexpr auto kStep = static_cast<std::int64_t>(N);
  Vector lanes[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    lanes[i] = *reinterpret_cast<const Vector*>(moved(from, i * kStep));  // NOLINT(performance-no-int-to-ptr)
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    *reinterpret_cast<Vector*>(moved(to, i * kStep)) = lanes[i];  // NOLINT(performance-no-int-to-ptr)
}

/// Copies blocks of N bytes, a power of two.
template <std::size_t N>
struct Fixed {
  static constexpr bool kShort = true;  // one line or two
  explicit Fixed(std::int64_t) noexcept {}
  static constexpr std::int64_t bytes() noexcept { return N; }
  [[gnu::always_inline]] void copy(Address to, Address from) const noexcept { Unit<N>::copy(to, from); }
};

/// Copies blocks of N to 2 N bytes by two moves of N bytes that overlap.
template <std::size_t N>
struct Twice {
  static constexpr bool kShort = true;  // one line or two
  explicit Twice(std::int64_t n) noexcept : tail(n - static_cast<std::int64_t>(N)) {}
  std::int64_t bytes() const noexcept { return tail + static_cast<std::int64_t>(N); }
  [[gnu::always_inline]] void copy(Address to, Address from) const noexcept {
    Unit<N>::copy(to, from);
    Unit<N>::copy(moved(to, tail), moved(from, tail));
  }
  std::int64_t tail;
};

/// Copies blocks of more than 64 bytes by a loop of moves of N bytes; the last move overlaps the one before.
template <std::size_t N>
struct Loop {
  static constexpr bool kShort = false;
  explicit Loop(std::int64_t n) noexcept : last(n - static_cast<std::int64_t>(N)) {}
  std::int64_t bytes() const noexcept { return last + static_cast<std::int64_t>(N); }
  [[gnu::always_inline]] void copy(Address to, Address from) const noexcept {
    constexpr auto kStep = static_cast<std::int64_t>(N);
    std::int64_t i = 0;
    for (; i + 3 * kStep < last; i += 4 * kStep) copy_four<N>(moved(to, i), moved(from, i));
    for (; i < last; i += kStep) Unit<N>::copy(moved(to, i), moved(from, i));
    Unit<N>::copy(moved(to, last), moved(from, last));
  }
  std::int64_t last;
};

/// Copies a run of n > 64 bytes in order, by vectors of N bytes, four a round; but for the first and the last
/// vector, stores are aligned to N.
///
/// Not memcpy: from 2 KiB on the C library copies by REP MOVSB where the processor reports fast string
/// operations. On some processors such copies into and out of memory that two cores share are much slower in
/// some runs, and then throughout the run (docs/notebook/kernels.md).
template <std::size_t N>
[[gnu::always_inline]] inline void copy_run(Address to, Address from, std::int64_t n) noexcept {
  constexpr auto kStep = static_cast<std::int64_t>(N);
  const Address end = moved(to, n - kStep), from_end = moved(from, n - kStep);
  Unit<N>::copy(to, from);
  const std::int64_t head = kStep - static_cast<std::int64_t>(to & (N - 1));
  to = moved(to, head);
  from = moved(from, head);
  for (n -= head; n >= 4 * kStep; n -= 4 * kStep) {
    copy_four<N>(to, from);
    to = moved(to, 4 * kStep);
    from = moved(from, 4 * kStep);
  }
  for (; n > kStep; n -= kStep) {
    Unit<N>::copy(to, from);
    to = moved(to, kStep);
    from = moved(from, kStep);
  }
  Unit<N>::copy(end, from_end);
}

/// Copies blocks of more than kLoopMost bytes, for which aligned stores pay.
template <std::size_t N>
struct Long {
  static constexpr bool kShort = false;
  explicit Long(std::int64_t n) noexcept : size(n) {}
  std::int64_t bytes() const noexcept { return size; }
  [[gnu::always_inline]] void copy(Address to, Address from) const noexcept { copy_run<N>(to, from, size); }
  std::int64_t size;
};

/// The classes of block sizes, which are the indices of a kernel table's arrays: k8 is Fixed<8>, kTo15 is
/// Twice<8> (9 to 15 bytes).
enum Width : std::uint8_t {
  k1,
  k2,
  k4,
  k8,
  k16,
  k32,
  k64,
  kTo3,
  kTo7,
  kTo15,
  kTo31,
  kTo63,
  kLoop,
  kLong,
  kWidths
};
inline constexpr std::int64_t kLine = 64;
inline constexpr std::int64_t kLoopMost = 8192;    // bytes; beyond, aligned stores pay
inline constexpr std::int64_t kInPlaceMost = 256;  // bytes; beyond, a call of wider vectors pays

/// The class of blocks of `bytes` > 0.
[[gnu::always_inline]] inline Width width_of(std::int64_t bytes) noexcept {
  constexpr auto kSmall = [] {
    std::array<Width, 65> table{};
    for (std::size_t n = 1; n <= 64; ++n)
      table[n] = n > 32 ? kTo63 : n > 16 ? kTo31 : n > 8 ? kTo15 : n > 4 ? kTo7 : kTo3;
    table[1] = k1;
    table[2] = k2;
    table[4] = k4;
    table[8] = k8;
    table[16] = k16;
    table[32] = k32;
    table[64] = k64;
    return table;
  }();
  if (bytes <= 64) return kSmall[static_cast<std::size_t>(bytes)];
  return bytes <= kLoopMost ? kLoop : kLong;
}

/// Copies one block of any size; for places where each block has a size of its own.
template <std::size_t Vector>
[[gnu::always_inline]] inline void copy_one(Address to, Address from, std::int64_t n) noexcept {
  if (n > 64) {
    if (n > kLoopMost) return Long<Vector>(n).copy(to, from);
    return Loop<Vector>(n).copy(to, from);
  }
  if (n > 32) return Twice<32>(n).copy(to, from);
  if (n >= 16) return Twice<16>(n).copy(to, from);
  if (n >= 8) return Twice<8>(n).copy(to, from);
  if (n >= 4) return Twice<4>(n).copy(to, from);
  if (n >= 2) return Twice<2>(n).copy(to, from);
  Unit<1>::copy(to, from);
}

}  // namespace stria::datatype::kernel
