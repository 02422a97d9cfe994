// Canonical trees: the fixpoint of the passes, built from the leaves up.
//
// Claim: for memory that contains a list and has at most kExpandRuns maximal runs, and for pure nests of
// strided levels of any size, the tree depends only on the sequence of maximal runs. Why: a list is written
// out run by run, merged, and folded by a function of that sequence alone. The function takes the smallest
// period of the sequence; if it has none, it rolls the sequence greedily from the left, first equal runs,
// then repeated groups, the shortest first, until there is nothing to roll; short rows (short_rows.hpp) may
// be opened again afterwards. A strided level over a canonical child is what the function gives for the
// repeated sequence. If no run crosses the seam between two copies, the smallest period of the repetition is
// the child's run count, or, when child and level are one progression, the levels fuse. If a run crosses the
// seam, the seam is opened first, also where equal pieces of a list are rolled. Beyond kExpandRuns the passes
// run on whole children, and the result is a tree with the same memory.
#pragma once

#include <cstdint>

#include "datatype/node.hpp"
#include "datatype/passes.hpp"

namespace stria::datatype {

/// Most maximal runs that are written out and folded run by run, which takes about 0.1 ms.
inline constexpr std::int64_t kExpandRuns = 4096;
/// Lists within lists are flattened up to this number of entries.
inline constexpr std::size_t kSpliceEntries = 1 << 20;

/// The canonical tree of a non-empty sequence of non-empty pieces with canonical shapes.
Placed canonical_sequence(Pieces pieces);

/// The canonical tree of `count` >= 1 copies of a canonical child, `stride` bytes apart.
NodePtr canonical_strided(std::int64_t count, std::int64_t stride, NodePtr child);

}  // namespace stria::datatype
