// Repetitions: stretches of a sequence in which a group of a few elements comes again and again at one
// distance. Anything may precede and follow the stretch, and it may end with a part of a group.
//
//   copies of F M L that touch   F  M LF M LF M LF M  ...  LF M  L
//   period 2, of two phases         [--] [--] [--]  ...
//                                     [---][---][---] ...  [---]
//
// Other files find the other regular forms: period.hpp a period that divides the length of the sequence,
// roll_runs() (passes.hpp) equal elements at one distance, which is period 1.
//
// Element i + p continues element i when both have one shape. A repetition of period p is a stretch of such i
// with one distance between i and i + p. Stretches of one period do not overlap, so a search finds the same
// stretches wherever it starts; and a stretch of at least m elements contains a multiple of m. So the search
// tests only every m-th element, and follows what it finds there to both sides. In irregular sequences that
// is less than one comparison for two elements, for all periods together (the sum of 1 / m). At worst the
// search goes over the sequence twice for each period.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "datatype/passes.hpp"
#include "datatype/record.hpp"

namespace stria::datatype {

/// `copies` groups of `period` elements from element `begin` on, and `spare` elements of one group more. The
/// whole groups may as well begin at any later element up to begin + spare.
struct Repetition {
  std::size_t begin = 0, period = 0, copies = 0, spare = 0;
};

/// Longest group, in elements: as many as a record has moves. A longer group would be walked, which is no
/// faster than a list.
inline constexpr std::size_t kLongestPeriod = kRecordMoves;
/// Fewest repeated elements that are worth a loop of their own between other parts. Against that loop, a list
/// of pairs or threes takes longer from 32 to 48 elements on (blocks of 1 to 40 bytes, AVX-512), and as long
/// below.
inline constexpr std::size_t kLeastRepeated = 40;

/// Fewest copies of a group of `period` elements that count as a repetition. A multiple of the period needs
/// no fewer elements, so the shortest period is found first.
constexpr std::size_t least_copies(std::size_t period) noexcept {
  return std::max(kMinRoll, (kLeastRepeated + period - 1) / period);
}

/// All repetitions of one period, from the left: of the shortest period from 2 to kLongestPeriod that has
/// any. No element is in two repetitions. `same(i, j)`: whether elements i and j have one shape; `distance(i,
/// j)`: bytes from i to j.
template <class Same, class Distance>
std::vector<Repetition> find_repetitions(std::size_t n, Same same, Distance distance) {
  std::vector<Repetition> found;
  for (std::size_t p = 2; p <= kLongestPeriod && found.empty(); ++p) {
    const std::size_t least = (least_copies(p) - 1) * p;  // fewest elements that element i + p continues
    std::size_t free = 0;                                 // first element behind the last repetition found
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
