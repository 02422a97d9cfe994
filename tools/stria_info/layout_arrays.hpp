// Parts of arrays as layouts, as MPI_Type_create_subarray and MPI_Type_create_darray have them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "datatype/layout.hpp"

namespace stria::info {

using Sizes = std::vector<std::int64_t>;

/// What an array is made of, and which of its indices is the fastest: the last, as in C, or the first.
struct Elements {
  datatype::Layout child;
  bool first_is_fastest = false;
};

/// counts[d] from starts[d] on of each dimension of sizes[d]. invalid: these are not in the array, or are not
/// as many, or it reaches beyond 64 bits.
Result<datatype::Layout> subarray(const Sizes& sizes, const Sizes& counts, const Sizes& starts,
                                  const Elements& of);

/// How a dimension is distributed; `argument` 0: MPI_DISTRIBUTE_DFLT_DARG.
struct Distribution {
  enum Kind { none, block, cyclic } kind = none;
  std::int64_t argument = 0;
};

/// What process `rank` of `processes`, in a grid, has of an array. invalid: as above, the grid is not of so
/// many processes, or they leave some of it; or they have more than `most` blocks of a dimension.
Result<datatype::Layout> darray(std::int64_t processes, std::int64_t rank, const Sizes& sizes,
                                const std::vector<Distribution>& how, const Sizes& grid, const Elements& of,
                                std::size_t most);

}  // namespace stria::info
