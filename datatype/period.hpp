// The smallest period of a sequence among the divisors of its length.
//
// Periods of a sequence that divide its length are closed under the greatest common divisor (Fine and Wilf:
// two of them, each at most half the length, have their gcd as a period), so the smallest divides all others
// and is found from the length downwards: take out one prime factor after the other as long as the rest is
// still a period. That is at most log2(n) passes, and each ends at its first mismatch: at once for what is
// irregular. 1, which divides all of them, is asked first: a column written as a list is found by one pass
// instead of one for each prime factor. Nothing is allocated.
#pragma once

#include <cstddef>

namespace stria::datatype {

/// `matches(i, j, p)`: element j = i + p continues element i as a period of p demands. n when there is no
/// smaller period.
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
    bool shrinks = true;  // once it does not, the same question stands for each further power
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
