// Offsets: an immutable list of 64-bit offsets, kept in 32 bits each where all of them fit. A copy reads a
// long list beside the data that it describes; entries of half the width halve that traffic. Entries are not
// narrower still, and not stored as differences: a walk seeks in the list, and a kernel reads an entry by one
// load. (stretches.hpp finds the neighbours of one length in a list of blocks.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace stria::datatype {

class Offsets {
 public:
  Offsets() = default;
  explicit Offsets(std::vector<std::int64_t> values) : Offsets(std::move(values), true) {}

  explicit Offsets(std::vector<std::int32_t> values) noexcept : narrow_(std::move(values)) {}

  /// Two lists with entries of one width, so that one loop can read both: 32 bits where all entries fit.
  static std::pair<Offsets, Offsets> pair(std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
    const bool narrow = fit(a) && fit(b);
    return {Offsets(std::move(a), narrow), Offsets(std::move(b), narrow)};
  }

  std::size_t size() const noexcept { return narrow_.empty() ? wide_.size() : narrow_.size(); }
  std::int64_t operator[](std::size_t i) const noexcept { return narrow_.empty() ? wide_[i] : narrow_[i]; }
  std::int64_t back() const noexcept { return (*this)[size() - 1]; }
  std::size_t bytes() const noexcept {
    return narrow_.size() * sizeof(std::int32_t) + wide_.size() * sizeof(std::int64_t);
  }
  bool is_narrow() const noexcept { return !narrow_.empty(); }
  /// The array; Int is std::int32_t if is_narrow(), else std::int64_t.
  template <class Int>
  const Int* data() const noexcept {
    if constexpr (std::is_same_v<Int, std::int32_t>)
      return narrow_.data();
    else
      return wide_.data();
  }
  friend bool operator==(const Offsets&, const Offsets&) = default;

 private:
  static bool fit(const std::vector<std::int64_t>& values) noexcept {
    std::int64_t low = 0, high = 0;
    for (const std::int64_t v : values) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
    return low >= INT32_MIN && high <= INT32_MAX;
  }
  Offsets(std::vector<std::int64_t> values, bool narrow) {
    if (narrow && fit(values)) {
      narrow_.reserve(values.size());
      for (const std::int64_t v : values) narrow_.push_back(static_cast<std::int32_t>(v));
    } else {
      wide_ = std::move(values);
    }
  }

  std::vector<std::int32_t> narrow_;  // either narrow_ or wide_ is empty
  std::vector<std::int64_t> wide_;
};

}  // namespace stria::datatype
