// Facts: how the bytes of a layout lie, as far as the way of a message depends on it. They are computed when
// the layout is made: a message asks for them several times on its way, and each of them takes divisions.
#pragma once

#include <cstdint>

namespace stria::datatype {

struct Node;

/// Columns of a matrix, each of which has its runs in other cache lines, while the next bytes of these lines
/// belong to the next columns.
struct Columns {
  std::int64_t bytes = 0;  ///< of as many columns as share their lines; 0: the memory is no such matrix
  /// Length of the longest payload that is not cut into parts of `bytes`: less than a byte more a column.
  std::int64_t most = 0;
};

/// What depends on whether there are instances beside each other, one extent apart.
struct Spread {
  Columns columns;
  /// The runs are on average shorter than a cache line, and so far apart that each lies in a line of its own,
  /// which the processor does not prefetch.
  bool sparse = false;
};

struct Facts {
  std::int64_t mean_run = 0;  ///< mean length of the contiguous runs in bytes, rounded down; 0: no bytes
  Spread one, several;        ///< of one instance, and of more

  const Spread& spread(std::int64_t count) const noexcept { return count > 1 ? several : one; }
};

/// The facts of a layout with this tree whose instances are `extent` apart.
Facts facts_of(const Node& root, std::int64_t extent) noexcept;

}  // namespace stria::datatype
