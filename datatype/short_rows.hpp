// Short rows: regular stretches of an irregular list of blocks that are not worth a part of a composite each.
// A row is a stretch that the passes have rolled into a strided piece.
//
//   a field of some elements of an array   x x x x x x x x     x x x x x x x x x x    x x x x x x x x x
//
// A part of a composite takes a node or two of memory, and each copy enters a loop for it. A list takes four
// to eight bytes a block and has one loop for all blocks. So where short rows are many, or few beside the
// irregular blocks, neighbouring rows and blocks are written out and become one list. A struct of a few rows
// keeps its rows: its tree is small either way, and its descriptor stays short.
#pragma once

#include <cstdint>

#include "datatype/passes.hpp"

namespace stria::datatype {

/// Whether one compact list can hold two neighbouring pieces: both are blocks, of any length, or both have
/// equal trees.
bool same_group(const Piece& a, const Piece& b) noexcept;

/// Most blocks, and most bytes, of a short row. Entering a loop takes as long as a list takes for 20 blocks
/// of 8 bytes in the first-level cache, or for more than 100 beyond it, and as long as copying about a KiB
/// (rows of 8 to 256 blocks of 1 to 128 bytes, AVX-512).
inline constexpr std::int64_t kShortRow = 128, kShortRowBytes = 1024;
/// Most blocks of short rows that a list takes in for each part that this saves.
inline constexpr std::int64_t kRowForPart = 80;
/// How many times kShortRow and kShortRowBytes the rows of one part may have together. Rows of one shape that
/// follow each other are one part, a list of rows, which takes no node for each row.
inline constexpr std::int64_t kRowsOfShape = 4;
/// From so many parts of short rows on, a sequence has too many of them to keep.
inline constexpr std::int64_t kManyRows = 32;

/// Whether `count` equal rows that follow each other are short; each has `blocks` blocks and `bytes` bytes.
inline bool are_short(std::int64_t count, std::int64_t blocks, std::int64_t bytes) noexcept {
  return blocks <= kShortRow && bytes <= kShortRowBytes && count <= kRowsOfShape * kShortRow &&
         count * blocks <= kRowsOfShape * kShortRow && count * bytes <= kRowsOfShape * kShortRowBytes;
}

/// Counts of those parts that could become a list, among neighbouring parts of a composite or all its parts.
struct ShortParts {
  std::int64_t rows = 0, lists = 0;        ///< parts of short rows (of one shape), parts of single blocks
  std::int64_t in_rows = 0, in_lists = 0;  ///< blocks in parts of short rows, in parts of single blocks

  /// For the counts of a whole sequence: whether its short rows are too many or too few to be kept.
  bool matter() const noexcept { return rows >= kManyRows || in_rows <= in_lists; }
  /// For the counts of neighbouring parts: whether they are better one list.
  bool join() const noexcept { return rows > 0 && in_rows <= kRowForPart * (rows + lists - 1); }
};

/// Writes out the short rows of a sequence that does not fold any further, where ShortParts::matter() and
/// join() hold. A row is a strided piece: of blocks, of levels of blocks, or of repeated groups
/// (repetition.hpp). order, size, bounds: a row means its blocks in sequence; blocks that touch are joined by
/// merge_adjacent(). The caller does not fold the result, which would find the rows again.
Pieces open_short_rows(Pieces pieces);

}  // namespace stria::datatype
