// Stretches: what a list of blocks of several lengths consists of. Long runs of neighbours often have one
// length (the arrays of a particle code, spliced into one list): each such run is a stretch that a loop for
// blocks of that size copies, two to three times faster than a loop that looks at every length. What lies
// between is one stretch of several lengths, with the longest, which tells its loop how much a block takes at
// most. Derived from the list when it is made; a list has at least one stretch, and one for most.
#pragma once

#include <cstdint>
#include <vector>

#include "datatype/offsets.hpp"

namespace stria::datatype {

/// Neighbouring blocks of a list that one loop copies.
struct Stretch {
  std::int64_t end = 0;      ///< one beyond its last block
  std::int64_t longest = 0;  ///< bytes of its longest block
  bool equal = false;        ///< all blocks are as long
};

/// Shorter runs of one length stay with their neighbours: starting a loop takes what a few blocks take.
inline constexpr std::int64_t kMinStretch = 16;

/// Of blocks whose prefix sums are `starts`, at least 2 of them; ends in rising order. O(n).
std::vector<Stretch> stretches_of(const Offsets& starts);

}  // namespace stria::datatype
