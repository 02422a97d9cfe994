// Short rows: regular stretches of an irregular list that are not worth a part of their own.
//
//   a field of some elements of an array   x x x x x x x x     x x x x x x x x x x    x x x x x x x x x
//
// A part of a composite takes a node or two of memory and, whenever it is copied, a loop that is entered for
// it. A list takes four to eight bytes a block, and its one loop goes on. So where rows are many, or few
// beside the irregular blocks, those that stand together are written out and become one list. A struct of a
// few rows keeps them: it is small either way, and its descriptor stays short.
#pragma once

#include <cstdint>

#include "datatype/passes.hpp"

namespace stria::datatype {

/// Neighbouring pieces that one compact list can hold: blocks of any length, or equal shapes.
bool same_group(const Piece& a, const Piece& b) noexcept;

/// Entering a loop takes what a list takes for 20 blocks of 8 bytes in the first-level cache and more than
/// 100 beyond it, and what copying about a KiB takes (rows of 8 to 256 blocks of 1 to 128 bytes, AVX-512).
inline constexpr std::int64_t kShortRow = 128, kShortRowBytes = 1024;
inline constexpr std::int64_t kRowForPart = 80;  ///< so many blocks of rows a list may get for a part less
/// Rows of one shape that follow each other are one part, a list of rows, which takes no memory for a row.
inline constexpr std::int64_t kRowsOfShape = 4;
inline constexpr std::int64_t kManyRows = 32;

/// `count` equal rows that follow each other, each of so many blocks and bytes.
inline bool are_short(std::int64_t count, std::int64_t blocks, std::int64_t bytes) noexcept {
  return blocks <= kShortRow && bytes <= kShortRowBytes && count <= kRowsOfShape * kShortRow &&
         count * blocks <= kRowsOfShape * kShortRow && count * bytes <= kRowsOfShape * kShortRowBytes;
}

/// What neighbouring parts of a composite, or all of them, hold beside long ones.
struct ShortParts {
  std::int64_t rows = 0, lists = 0;        ///< parts: short rows (of one shape) and blocks outside any row
  std::int64_t in_rows = 0, in_lists = 0;  ///< their blocks

  /// All of a sequence: whether its short rows are too many or too few to be kept.
  bool matter() const noexcept { return rows >= kManyRows || in_rows <= in_lists; }
  /// Neighbours: whether they are better one list.
  bool join() const noexcept { return rows > 0 && in_rows <= kRowForPart * (rows + lists - 1); }
};

/// Writes out short rows of a sequence that does not fold any further, where they matter() and join(). A row
/// is a strided piece: of blocks, of levels of them, or of repeated groups (repetition.hpp). order, size,
/// bounds: a row means its blocks in sequence; blocks are joined as by merge_adjacent(). The result is not
/// folded again, which would find the rows again.
Pieces open_short_rows(Pieces pieces);

}  // namespace stria::datatype
