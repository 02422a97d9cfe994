// Divisor: a number that is known long before what it divides. A division of 64 bits takes as long as copying
// a dozen elements, so it is replaced by a multiplication and a shift, whose factor is computed once.
//
//   2^(l-1) < d <= 2^l,  m = 2^(63+l) / d, rounded up:  v / d = v * m / 2^(63+l), rounded down
//
// The result is exact for 0 <= v < 2^63: m * d exceeds 2^(63+l) by less than d, so v * m / 2^(63+l) exceeds
// v / d by less than 1 / d, and v / d is an integer or at least 1 / d below the next one. (Granlund and
// Montgomery, Division by Invariant Integers using Multiplication, 1994)
#pragma once

#include <bit>
#include <cstdint>

namespace stria::datatype {

class Divisor {
 public:
  /// Divides nothing: there is no quotient by 0.
  constexpr Divisor() noexcept = default;
  /// d > 0. It takes a division of 128 bits.
  constexpr explicit Divisor(std::int64_t d) noexcept
      : shift_(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(d) - 1))),
        factor_(static_cast<std::uint64_t>(((Wide{1} << (63 + shift_)) + static_cast<Wide>(d) - 1) /
                                           static_cast<Wide>(d))) {}

  /// v / d, for v >= 0.
  constexpr std::int64_t quotient(std::int64_t v) const noexcept {
    const Wide product = Wide{static_cast<std::uint64_t>(v) << 1} * factor_;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(product >> 64) >> shift_);
  }

 private:
  using Wide = unsigned __int128;

  int shift_ = 0;             // l
  std::uint64_t factor_ = 0;  // m; 2^63 <= m < 2^64
};

}  // namespace stria::datatype
