// Transposes ("turns") squares of 8 x 8 elements of 8 bytes in AVX2 registers: it reads eight lines and
// writes eight lines, without a buffer in memory.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include "datatype/kernels/table.hpp"

namespace stria::datatype::kernel {

[[gnu::always_inline]] inline double* row(Address a) noexcept {
  return reinterpret_cast<double*>(a);  // NOLINT(performance-no-int-to-ptr)
}

/// Transposes 4 x 4 elements: the rows of 4 elements at from + k * from_far become the columns of the rows at
/// to + k * to_far.
[[gnu::target("avx2")]] inline void turn_4x4(Address from, std::int64_t from_far, Address to,
                                             std::int64_t to_far) noexcept {
  const __m256d a = _mm256_loadu_pd(row(from)), b = _mm256_loadu_pd(row(moved(from, from_far)));
  const __m256d c = _mm256_loadu_pd(row(moved(from, 2 * from_far))),
                d = _mm256_loadu_pd(row(moved(from, 3 * from_far)));
  const __m256d ab_even = _mm256_unpacklo_pd(a, b), ab_odd = _mm256_unpackhi_pd(a, b);
  const __m256d cd_even = _mm256_unpacklo_pd(c, d), cd_odd = _mm256_unpackhi_pd(c, d);
  _mm256_storeu_pd(row(to), _mm256_permute2f128_pd(ab_even, cd_even, 0x20));
  _mm256_storeu_pd(row(moved(to, to_far)), _mm256_permute2f128_pd(ab_odd, cd_odd, 0x20));
  _mm256_storeu_pd(row(moved(to, 2 * to_far)), _mm256_permute2f128_pd(ab_even, cd_even, 0x31));
  _mm256_storeu_pd(row(moved(to, 3 * to_far)), _mm256_permute2f128_pd(ab_odd, cd_odd, 0x31));
}

/// Transposes 2 x 2 elements, from rows at from + k * from_far to rows at to + k * to_far.
[[gnu::target("avx2")]] inline void turn_2x2(Address from, std::int64_t from_far, Address to,
                                             std::int64_t to_far) noexcept {
  const __m128d a = _mm_loadu_pd(row(from)), b = _mm_loadu_pd(row(moved(from, from_far)));
  _mm_storeu_pd(row(to), _mm_unpacklo_pd(a, b));
  _mm_storeu_pd(row(moved(to, to_far)), _mm_unpackhi_pd(a, b));
}

/// Copies one square of a nest. Squares of 8-byte elements are transposed in registers; other sizes use Plain
/// (table.hpp). Doubles are only moved, never computed with, so every bit pattern survives.
///   kSide  elements on a side of the square
///   Less   the copier of what is left over: of strips that are narrower than kSide
template <class B, std::int64_t kBytes>
struct TurnedSquare : Plain<B, kBytes> {};
template <class B>
struct TurnedSquare2 {
  static constexpr std::int64_t kSide = 2;
  using Less = NoSquare;
  [[gnu::target("avx2")]] static void copy(B, const Nest& n, Address from, Address to) noexcept {
    turn_2x2(from, n.from_inner, to, n.to_outer);
  }
};
template <class B>
struct TurnedSquare4 {
  static constexpr std::int64_t kSide = 4;
  using Less = TurnedSquare2<B>;
  [[gnu::target("avx2")]] static void copy(B, const Nest& n, Address from, Address to) noexcept {
    turn_4x4(from, n.from_inner, to, n.to_outer);
  }
};
template <class B>
struct TurnedSquare<B, 8> {
  static constexpr std::int64_t kSide = 8;
  using Less = TurnedSquare4<B>;
  static bool fits(const Nest& n) noexcept { return n.from_outer == 8 && n.to_inner == 8; }
  // Not forced inline: its callers have no target attribute until they are inlined themselves.
  [[gnu::target("avx2")]] static void copy(B, const Nest& n, Address from, Address to) noexcept {
    const std::int64_t half_from = 4 * n.from_inner, half_to = 4 * n.to_outer;
    turn_4x4(from, n.from_inner, to, n.to_outer);
    turn_4x4(moved(from, half_from), n.from_inner, moved(to, 32), n.to_outer);
    turn_4x4(moved(from, 32), n.from_inner, moved(to, half_to), n.to_outer);
    turn_4x4(moved(from, half_from + 32), n.from_inner, moved(to, half_to + 32), n.to_outer);
  }
};

}  // namespace stria::datatype::kernel
#endif
