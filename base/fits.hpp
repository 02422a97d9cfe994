// Checked narrowing: whoever writes a narrow field asks first.
#pragma once

#include <concepts>
#include <limits>
#include <utility>

namespace stria {

/// Whether `value` is representable in the integer type `To`.
template <std::integral To, std::integral From>
constexpr bool fits(From value) noexcept {
  return std::in_range<To>(value);
}

/// a * b into `out`; true on overflow (`out` is then meaningless).
constexpr bool mul_overflows(long long a, long long b, long long* out) noexcept {
  return __builtin_mul_overflow(a, b, out);
}

}  // namespace stria
