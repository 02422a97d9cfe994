// Stretches: what a list of blocks of several lengths consists of. Long runs of neighbours often have one
// length (the arrays of a particle code, spliced into one list): each such run is a stretch that a loop for
// blocks of that size copies, two to three times faster than a loop that looks at every length. What lies
// between is one stretch of several lengths, with the size that hardly any exceeds, which tells its loop what
// to move without asking. Derived from the list when it is made; a list has at least one stretch, and one for
// most.
#pragma once

#include <cstdint>
#include <vector>

#include "datatype/offsets.hpp"

namespace stria::datatype {

/// Neighbouring blocks of a list that one loop copies.
struct Stretch {
  std::int64_t end = 0;  ///< one beyond its last block
  /// If equal, of every block; else 32, 64 or 128, the first that no more than one block in kFew exceeds, or
  /// kFromMemory instead of 128. Only a hint then: 128 may be exceeded by all.
  std::int64_t bytes = 0;
  bool equal = false;
};

/// Of a list whose blocks have kBeyondCaches bytes together: what is read is in no cache, mostly.
inline constexpr std::int64_t kFromMemory = 256;
inline constexpr std::int64_t kBeyondCaches = std::int64_t{2} << 20;
/// Shorter runs of one length stay with their neighbours: starting a loop takes what a few blocks take.
inline constexpr std::int64_t kMinStretch = 16;
inline constexpr std::int64_t kFew = 16;  // so many guesses for one that is wrong cost less than a wider move

/// Of blocks whose prefix sums are `starts`, at least 2 of them; ends in rising order. O(n).
std::vector<Stretch> stretches_of(const Offsets& starts);

}  // namespace stria::datatype
