// Parts of arrays as layouts. A part names in each dimension blocks of indices; the elements lie in the order
// of the array, and the bounds are those of the whole array, as MPI_Type_create_subarray and
// MPI_Type_create_darray have them, so that instances of the part are whole arrays apart.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "datatype/layout.hpp"

namespace stria::datatype {

/// Which index of an array is the fastest: the last, as in C, or the first, as in Fortran.
enum class ArrayOrder { c, fortran };

/// Indices of one dimension: block i is lengths[i] indices from begins[i] on.
struct ArrayPart {
  std::vector<std::int64_t> lengths, begins;
};

/// parts[d] of dimension d, of sizes[d] indices; as many of both, and inside. invalid: beyond 64 bits.
Result<Layout> array_part(std::span<const std::int64_t> sizes, std::span<const ArrayPart> parts,
                          ArrayOrder order, const Layout& child);

/// subsizes[d] indices from starts[d] on of dimension d, of sizes[d]; lists of equal length. invalid: no
/// dimension, or more than kMostDimensions; indices outside of their dimension; beyond 64 bits: named.
inline constexpr std::size_t kMostDimensions = 64;
Result<Layout> subarray(std::span<const std::int64_t> sizes, std::span<const std::int64_t> subsizes,
                        std::span<const std::int64_t> starts, ArrayOrder order, const Layout& child);

}  // namespace stria::datatype
