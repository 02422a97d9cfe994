// Parts of arrays as layouts. A part selects blocks of indices in each dimension. The selected elements keep
// the order that they have in the array, and the layout has the bounds of the whole array, so consecutive
// instances lie one array apart (as for MPI_Type_create_subarray and MPI_Type_create_darray).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "datatype/layout.hpp"

namespace stria::datatype {

/// Which index of an array changes fastest in memory: the last, as in C, or the first, as in Fortran.
enum class ArrayOrder { c, fortran };

/// The selected indices of one dimension: block i is lengths[i] indices from begins[i] on.
struct ArrayPart {
  std::vector<std::int64_t> lengths, begins;
};

/// The layout of the indices parts[d] of each dimension d, which has sizes[d] indices; elements are `child`.
/// The caller ensures that there are as many parts as sizes, and that every index is inside its dimension.
/// Error invalid: the array leaves 64 bits.
Result<Layout> array_part(std::span<const std::int64_t> sizes, std::span<const ArrayPart> parts,
                          ArrayOrder order, const Layout& child);

/// Most dimensions of a subarray.
inline constexpr std::size_t kMostDimensions = 64;
/// The layout of the subsizes[d] indices from starts[d] on of each dimension d, which has sizes[d] indices;
/// the three lists have one length. Error invalid, with the reason: no dimension, or more than
/// kMostDimensions; indices outside of their dimension; the array leaves 64 bits.
Result<Layout> subarray(std::span<const std::int64_t> sizes, std::span<const std::int64_t> subsizes,
                        std::span<const std::int64_t> starts, ArrayOrder order, const Layout& child);

}  // namespace stria::datatype
