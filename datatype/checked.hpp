// Checked: a 64-bit signed number that remembers whether an operation that led to it overflowed. Setup code
// computes a whole formula with Checked and calls ok() once at the end, so no wrapped value is ever used.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stria::datatype {

class Checked {
 public:
  constexpr Checked(std::int64_t value) noexcept : value_(value) {}  // NOLINT(google-explicit-constructor)

  /// False once any operation that led here overflowed.
  constexpr bool ok() const noexcept { return ok_; }
  /// Meaningful only when ok().
  constexpr std::int64_t value() const noexcept { return value_; }

  friend constexpr Checked operator+(Checked a, Checked b) noexcept {
    Checked r(0);
    r.ok_ = !__builtin_add_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }
  friend constexpr Checked operator-(Checked a, Checked b) noexcept {
    Checked r(0);
    r.ok_ = !__builtin_sub_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }
  friend constexpr Checked operator*(Checked a, Checked b) noexcept {
    Checked r(0);
    r.ok_ = !__builtin_mul_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }
  friend constexpr Checked lesser(Checked a, Checked b) noexcept {
    Checked r(std::min(a.value_, b.value_));
    r.ok_ = a.ok_ && b.ok_;
    return r;
  }
  friend constexpr Checked greater(Checked a, Checked b) noexcept {
    Checked r(std::max(a.value_, b.value_));
    r.ok_ = a.ok_ && b.ok_;
    return r;
  }

 private:
  std::int64_t value_;
  bool ok_ = true;
};

}  // namespace stria::datatype
