// Canonical trees: the fixpoint of the passes, built from the leaves up.
//
// Claim: for memory that contains a list and has at most kExpandRuns maximal runs, and for pure nests of
// strided levels of any size, the tree depends only on the sequence of maximal runs. Why: a list is written
// out run by run, merged, and folded by a function of that sequence alone (its smallest period, else greedy
// rolling from the left, first of equal runs, then of repeated groups, the shortest first, until there is
// nothing to roll; of which short rows may be opened again). A strided level over a canonical child is
// what that function gives for the repeated sequence: if no run crosses the seam between two copies, the
// smallest period of the repetition is the child's run count, or, when child and level are one progression,
// the levels fuse; if a run does cross, the seam is opened first, and so it is where equal pieces of a list
// are rolled. Beyond kExpandRuns the same passes run on whole children, and the result is a tree with the
// same memory.
#pragma once

#include <cstdint>

#include "datatype/node.hpp"
#include "datatype/passes.hpp"

namespace stria::datatype {

inline constexpr std::int64_t kExpandRuns = 4096;       // maximal ones; about 0.1 ms to write out and fold
inline constexpr std::size_t kSpliceEntries = 1 << 20;  // lists within lists are flattened up to this length

/// The canonical tree of a non-empty sequence of non-empty pieces with canonical shapes.
Placed canonical_sequence(Pieces pieces);

/// The canonical tree of `count` >= 1 copies of a canonical child, `stride` bytes apart.
NodePtr canonical_strided(std::int64_t count, std::int64_t stride, NodePtr child);

}  // namespace stria::datatype
