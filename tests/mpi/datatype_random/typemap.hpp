// The naive typemap walk: appending copies of a child, and the bounds that the MPI standard derives from
// them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

#include "tests/mpi/datatype_random/random_type.hpp"

namespace mpitest {

/// Bytes [low, high) relative to the type's origin.
struct Span {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// Adds the child's typemap, moved by `displacement` bytes.
void append(RandomType& type, const RandomType& child, std::int64_t displacement);

/// All bytes that `copies` consecutive instances touch.
Span span_of(const RandomType& type, std::int64_t copies);

/// Whether `copies` consecutive instances name some byte twice (such a type may be sent, not received).
bool overlaps(const RandomType& type, std::int64_t copies);

/// Bounds of a type with explicit ones: MPI must agree exactly.
void set_bounds(RandomType& type, std::int64_t lower, std::int64_t upper);

/// Bounds of a type without explicit ones. The standard leaves the padding at the end (epsilon) and the
/// bounds of types without data to the implementation: MPI's answer is taken after checking that it covers
/// the data.
void take_bounds(RandomType& type);

/// Bounds of blocks of children: explicit ones win over implicit ones, as the standard's markers do.
void combine_bounds(RandomType& type, std::span<const RandomType> children, std::span<const int> lengths,
                    std::span<const MPI_Aint> places);

}  // namespace mpitest
