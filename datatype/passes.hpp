// The canonicalising passes: small pure rewrites of a sequence of pieces. A sequence is memory in typemap
// order: piece 0 first, each piece a canonical shape at a displacement. Each pass says why it keeps
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

/// One part of a sequence. A plain block has no node, so that long lists of blocks cost 32 bytes an entry.
struct Piece {
  std::int64_t displacement = 0;
  std::int64_t bytes = 0;  ///< size of the shape, > 0
  NodePtr node;            ///< null: a block of `bytes`

  std::int64_t runs() const noexcept { return node ? node->runs : 1; }
  std::int64_t end_of_last() const noexcept {
    return displacement + (node ? node->last_at + node->last_bytes : bytes);
  }
};
using Pieces = std::vector<Piece>;

/// make_node() for rewrites, which cannot leave 64 bits: a failure is a broken invariant.
NodePtr must_make(Form form);
/// A piece of `node`; blocks lose their node.
Piece make_piece(std::int64_t displacement, const NodePtr& node);
/// The node of a piece, made anew for a block.
NodePtr node_of(const Piece& piece);
/// Same shape (wherever it lies).
bool same_shape(const Piece& a, const Piece& b) noexcept;
/// Maximal runs of the sequence: where a piece goes on in the next, one run is in both. Saturates at `limit +
/// 1`.
std::int64_t count_runs(const Pieces& pieces, std::int64_t limit) noexcept;

/// Appends every run of a piece, in order.
void expand_piece(const Piece& piece, Pieces& out);
/// Writes out every run of every piece, in order.
/// order, size, bounds: a tree means the sequence of its leaves by definition.
Pieces expand(const Pieces& pieces);

/// Replaces lists (Indexed, Blocks, Composite) among the pieces by their entries, unless the sequence would
/// grow beyond `limit` entries by it; a list of more than half of the sequence's bytes in any case. There is
/// one at most, so no more is written out than it holds; and a list that stays has at most half of the bytes,
/// which bounds the depth of trees (kMaxDepth). order, size, bounds: a list means its entries one after the
/// other; strided pieces stay whole.
Pieces splice_lists(Pieces pieces, std::size_t limit);

/// Joins a block with the block that follows it in the sequence when it starts where the first ends.
/// order: both orders are [a, a+m) then [a+m, a+m+n); size and bounds: the union of two touching runs.
/// Blocks that touch in memory but not in the sequence stay apart, as their bytes are not neighbours in the
/// stream.
void merge_adjacent(Pieces& pieces);

/// Joins neighbours that continue a strided piece: strided + strided, strided + child, child + strided, where
/// shape and step go on.
/// order: element i of the result is element i of the two, one after the other; size, bounds: no byte moves.
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

/// Rolls stretches of at least kMinRoll equal shapes at one constant distance into a strided piece each,
/// greedily from the left. True if anything changed. order: a strided piece means its elements in sequence;
/// size, bounds: no byte moves.
bool roll_runs(Pieces& pieces);
inline constexpr std::size_t kMinRoll = 8;  // shorter ones occur by chance; what stays rolled: short_rows.hpp

/// Opens pieces at the front until a plain block stands there; likewise at the back.
/// order, size, bounds: strided(n, s, c) = c, strided(n-1, s, c) moved by s; = strided(n-1, s, c), last c.
void open_front(Pieces& pieces);
void open_back(Pieces& pieces);

}  // namespace stria::datatype
