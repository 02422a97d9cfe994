// The canonicalising passes: small rewrites of a sequence of pieces. A sequence is memory in typemap order:
// piece 0 first, each piece a canonical tree at a displacement. The comment of each pass says why it keeps
//   order   the bytes of the typemap, one by one, in the same order (so the packed stream is the same),
//   size    the number of bytes,
//   bounds  lowest and highest byte (which follow from keeping every byte where it is).
// canonical.hpp drives them. Passes run on memory whose size and bounds were found to fit 64 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datatype/node.hpp"

namespace stria::datatype {

/// One part of a sequence. A plain block has no node, so an entry of a long list of blocks costs one Piece.
struct Piece {
  std::int64_t displacement = 0;
  std::int64_t bytes = 0;  ///< packed size, > 0
  NodePtr node;            ///< null: a block of `bytes`

  std::int64_t runs() const noexcept { return node ? node->runs : 1; }
  std::int64_t end_of_last() const noexcept {
    return displacement + (node ? node->last_at + node->last_bytes : bytes);
  }
};
using Pieces = std::vector<Piece>;

/// Makes a node for a rewrite. Rewrites keep size and bounds, which fit 64 bits: a failure aborts.
NodePtr must_make(Form form);
/// The piece of a node at a displacement. The piece of a Block keeps no node.
Piece make_piece(std::int64_t displacement, const NodePtr& node);
/// The node of a piece; for a piece without a node, a new Block.
NodePtr node_of(const Piece& piece);
/// Whether two pieces have equal trees, wherever they lie.
bool same_shape(const Piece& a, const Piece& b) noexcept;
/// Counts the runs of the sequence; where the last run of a piece touches the first of the next, the two
/// count as one. Saturates at `limit + 1`.
std::int64_t count_runs(const Pieces& pieces, std::int64_t limit) noexcept;

/// Appends every run of a piece to `out` as a block, in order.
void expand_piece(const Piece& piece, Pieces& out);
/// The sequence with every run of every piece as a block of its own, in order.
/// order, size, bounds: a tree means the sequence of its leaves by definition.
Pieces expand(const Pieces& pieces);

/// Replaces lists (Indexed, Blocks, Composite) among the pieces by their entries, unless the sequence would
/// then have more than `limit` entries. A list with more than half of the sequence's bytes is replaced in any
/// case: there is at most one such list, so this adds no more than the list's own entries. A list that stays
/// therefore has at most half of the bytes, which bounds the depth of trees (kMaxDepth). Strided pieces stay
/// whole. order, size, bounds: a list means its entries one after the other.
Pieces splice_lists(Pieces pieces, std::size_t limit);

/// Joins a block with the next block of the sequence when the next one starts where the first ends.
/// order: before and after, [a, a+m) comes first, then [a+m, a+m+n); size and bounds: the union of two
/// touching runs. Blocks that touch in memory but do not follow each other in the sequence stay apart: their
/// bytes are not neighbours in the packed stream.
void merge_adjacent(Pieces& pieces);

/// Joins neighbouring pieces into one strided piece where at least one of the two is strided, and the other
/// is strided with the same child and stride, or is one more child, at the distance that continues the
/// stride. order: the result has the elements of the first piece, then those of the second; size, bounds: no
/// byte moves.
void join_progressions(Pieces& pieces);

/// The smallest period p < n, p | n, such that the sequence is n/p copies of its first p pieces at one
/// constant shift. Empty when there is none. O(n log n), and little of it for irregular sequences
/// (period.hpp). The caller replaces the sequence by strided(n/p, shift, first p): order, because copy i
/// holds pieces [i p, (i+1) p); size and bounds, because no byte moves.
struct Period {
  std::size_t pieces = 0;
  std::int64_t shift = 0;
};
std::optional<Period> find_period(const Pieces& pieces);

/// Replaces each stretch of at least kMinRoll pieces of equal shape at one constant distance by a strided
/// piece, greedily from the left. True if anything changed. order: a strided piece means its elements in
/// sequence; size, bounds: no byte moves.
bool roll_runs(Pieces& pieces);
/// Shorter stretches occur by chance. short_rows.hpp says which of the strided pieces are kept.
inline constexpr std::size_t kMinRoll = 8;

/// open_front() opens the first piece until the sequence begins with a plain block; open_back() opens the
/// last piece until the sequence ends with one. order, size, bounds: strided(n, s, c) is c, then strided(n-1,
/// s, c) moved by s; it is also strided(n-1, s, c), then the last c.
void open_front(Pieces& pieces);
void open_back(Pieces& pieces);

}  // namespace stria::datatype
