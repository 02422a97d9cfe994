// Repetitions: stretches of a sequence in which a group of a few elements comes again and again at one
// distance, with anything before and behind, and at the end less than a whole group.
//
//   copies of F M L that touch   F  M LF M LF M LF M  ...  LF M  L
//   period 2, of two phases         [--] [--] [--]  ...
//                                     [---][---][---] ...  [---]
//
// A period that divides the whole sequence is period.hpp's; equal elements at one distance, period 1, are
// roll_runs()'s.
//
// Element i + p continues element i when both have one shape; a repetition of period p is a stretch of such i
// with one displacement between i and i + p. Stretches of one period do not overlap, so they are the same
// from wherever they are found; and one of at least m elements has an element at each m-th place. So only
// every m-th is looked at, and what is found there is followed to both sides. In irregular sequences that is
// less than one comparison for two elements, for all periods together (the sum of 1 / m). At worst each
// period goes over the sequence twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "datatype/passes.hpp"
#include "datatype/record.hpp"

namespace stria::datatype {

/// Elements [begin, begin + copies * period), or as many from a later one on, up to begin + spare.
struct Repetition {
  std::size_t begin = 0, period = 0, copies = 0, spare = 0;
};

/// As long as the elements that are copied by a record: longer groups are walked, which a list is as good as.
inline constexpr std::size_t kLongestPeriod = kRecordMoves;
/// So many elements are worth a loop of their own between other parts: a list of pairs or threes takes longer
/// from 32 to 48 of them on (blocks of 1 to 40 bytes, AVX-512), and as long below.
inline constexpr std::size_t kLeastRepeated = 40;

/// Copies from which on a group of `period` elements is a repetition; not fewer elements for a multiple of
/// it, so that the shortest period is found first.
constexpr std::size_t least_copies(std::size_t period) noexcept {
  return std::max(kMinRoll, (kLeastRepeated + period - 1) / period);
}

/// All repetitions of the shortest period from 2 to kLongestPeriod that has one, from the left; no element is
/// in two of them. `same(i, j)`: elements of one shape; `distance(i, j)`: from i to j.
template <class Same, class Distance>
std::vector<Repetition> find_repetitions(std::size_t n, Same same, Distance distance) {
  std::vector<Repetition> found;
  for (std::size_t p = 2; p <= kLongestPeriod && found.empty(); ++p) {
    const std::size_t least = (least_copies(p) - 1) * p;  // elements that are continued
    std::size_t free = 0;                                 // the first one behind what was found
    for (std::size_t at = least - 1; at + p < n;) {
      std::size_t begin = at, end = at;
      if (at >= free && same(at, at + p)) {
        const std::int64_t step = distance(at, at + p);
        const auto goes_on = [&](std::size_t i) { return same(i, i + p) && distance(i, i + p) == step; };
        for (++end; end + p < n && goes_on(end);) ++end;
        while (begin > free && goes_on(begin - 1)) --begin;
        if (end - begin >= least) {
          free = end + p;
          found.push_back({begin, p, (free - begin) / p, (free - begin) % p});
        }
      }
      do at += least;
      while (at < end);
    }
  }
  return found;
}

}  // namespace stria::datatype
