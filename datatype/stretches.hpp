// Stretches: the division of a list of blocks of several lengths by the loops that copy it. Many neighbouring
// blocks often have one length (the arrays of a particle code, spliced into one list). They are a stretch
// that a loop for blocks of that size copies, two to three times faster than a loop that reads every length.
// The blocks between two such stretches are one stretch of several lengths. Its `bytes` is a length that
// hardly any of its blocks exceeds, from which its loop guesses how wide a move to make. The stretches are
// derived when the list is made. A list has at least one stretch, and most lists have one.
#pragma once

#include <cstdint>
#include <vector>

#include "datatype/offsets.hpp"

namespace stria::datatype {

/// Neighbouring blocks of a list that one loop copies. They begin where the stretch before ends.
struct Stretch {
  std::int64_t end = 0;  ///< index of the block behind the last one
  /// If equal, the length of every block. Otherwise a hint: 32 or 64, the first that no more than one block
  /// in kFew exceeds; if more exceed 64, 128 or kFromMemory, which any number of blocks may exceed.
  std::int64_t bytes = 0;
  bool equal = false;
};

/// Stretch::bytes instead of 128 in a list whose blocks have at least kBeyondCaches bytes together: what a
/// copy reads of such a list is mostly in no cache.
inline constexpr std::int64_t kFromMemory = 256;
inline constexpr std::int64_t kBeyondCaches = std::int64_t{2} << 20;
/// Fewest blocks of a stretch of one length. Fewer blocks stay in a stretch of several lengths: starting a
/// loop takes as long as copying a few blocks.
inline constexpr std::int64_t kMinStretch = 16;
/// One wrong guess in so many costs less than a wider move for every block.
inline constexpr std::int64_t kFew = 16;

/// The stretches of a list of at least 2 blocks, from its prefix sums `starts`; ends ascend. O(n).
std::vector<Stretch> stretches_of(const Offsets& starts);

}  // namespace stria::datatype
