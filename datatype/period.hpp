// The smallest period of a sequence among the divisors of its length.
//
// Periods of a sequence that divide its length are closed under the greatest common divisor (Fine and Wilf:
// two of them, each at most half the length, have their gcd as a period). So the smallest period divides all
// others. It is found from the length downwards: divide by one prime factor after the other as long as the
// quotient is still a period. That is at most log2(n) passes over the sequence, and each pass ends at its
// first mismatch, which an irregular sequence has near its beginning. Period 1 is tested first: a column
// written as a list then takes one pass instead of one for each prime factor. Nothing is allocated.
#pragma once

#include <cstddef>

namespace stria::datatype {

/// The smallest period of a sequence of `n` elements that divides n; n when there is no smaller one.
/// `matches(i, j, p)`: whether element j = i + p continues element i as a period of p demands.
template <class Matches>
std::size_t smallest_period(std::size_t n, Matches matches) {
  const auto is_period = [&](std::size_t p) {
    for (std::size_t i = 0; i + p < n; ++i)
      if (!matches(i, i + p, p)) return false;
    return true;
  };
  if (n > 1 && is_period(1)) return 1;
  std::size_t period = n;
  std::size_t rest = n;
  const auto take_out = [&](std::size_t prime) {
    bool shrinks = true;  // once false, a further power of the prime would test the same quotient again
    for (; rest % prime == 0; rest /= prime) {
      shrinks = shrinks && period > prime && is_period(period / prime);
      if (shrinks) period /= prime;
    }
  };
  for (std::size_t prime = 2; prime * prime <= rest; ++prime) take_out(prime);
  if (rest > 1) take_out(rest);
  return period;
}

}  // namespace stria::datatype
