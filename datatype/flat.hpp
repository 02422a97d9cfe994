// Flat sequences against each other: arrays and lists of runs or of records, of one size, copied from side to
// side without a packed copy. An element is cut at the moves of both sides into pieces, and each piece is one
// loop over the elements of a stretch that stays in the first-level cache:
//
//   source  |int|  double  |c|       a record of 13 bytes
//   sink    |  double  |int|c|       another
//   pieces  |   |      |   | |
//
// Records that a processor permutes by vectors on both sides are permuted from one to the other: one load and
// one store for as many records as fit a vector on both.
//
// Only of one size: blocks of 24 bytes to a column of 8, in as many loops as the larger block holds smaller
// ones, gained a fifth where the cache has both sides, and took twice as long where it has not.
#pragma once

#include <cstdint>

#include "datatype/kernels/kernels.hpp"
#include "datatype/sequence.hpp"

namespace stria::datatype {

/// Whether copy_flat() takes these two: flat, of one size, and at the same byte of an element.
bool flats_match(const Place& from, const Place& to) noexcept;

/// Whether it would permute vectors.
bool permutes_across(const Kernels& k, const Place& from, const Place& to) noexcept;

/// `length` bytes between sequences that match; where the sink overlaps itself, the later byte wins.
void copy_flat(const Kernels& k, Place from, Place to, std::int64_t length) noexcept;

}  // namespace stria::datatype
