// Copies between two flat sequences without a packed copy. A sequence is flat when its elements are runs or
// records (record.hpp), at one stride or at the places of a list; the elements of both sides have one size.
// An element is cut wherever a move (a contiguous run of a record) of either side ends. Each piece is copied
// by one loop over as many elements as stay in the first-level cache:
//
//   source  |int|  double  |c|       a record of 13 bytes
//   sink    |  double  |int|c|       another
//   pieces  |   |      |   | |
//
// Where both sides are records that a vector register holds and permutes, one load, one permutation and one
// store copy as many records as fit a vector of either side.
//
// Why elements of one size only: copying blocks of 24 bytes to a column of 8, in as many loops as the larger
// block holds smaller ones, gained a fifth where both sides are in the cache, and took twice as long where
// they are not.
#pragma once

#include <cstdint>

#include "datatype/kernels/kernels.hpp"
#include "datatype/sequence.hpp"

namespace stria::datatype {

/// Whether copy_flat() can copy between these places: both sequences are flat, their elements have one size,
/// and both places are at the same byte of an element.
bool flats_match(const Place& from, const Place& to) noexcept;

/// Whether copy_flat() would copy whole elements by permuting vectors. Implies flats_match().
bool permutes_across(const Kernels& k, const Place& from, const Place& to) noexcept;

/// Copies `length` bytes of the packed stream between places for which flats_match() holds. Where `to`
/// overlaps itself, the byte that is later in the stream wins.
void copy_flat(const Kernels& k, Place from, Place to, std::int64_t length) noexcept;

}  // namespace stria::datatype
