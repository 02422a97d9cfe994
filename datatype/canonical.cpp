#include "datatype/canonical.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/assert.hpp"
#include "datatype/checked.hpp"
#include "datatype/short_rows.hpp"

namespace stria::datatype {
namespace {

NodePtr make_indexed(const Pieces& pieces) {
  std::vector<std::int64_t> places;
  places.reserve(pieces.size());
  for (const Piece& p : pieces) places.push_back(p.displacement - pieces[0].displacement);
  return must_make(Indexed{Offsets(std::move(places)), node_of(pieces[0])});
}

NodePtr make_blocks(const Pieces& pieces) {
  std::vector<std::int64_t> places, starts;
  places.reserve(pieces.size());
  starts.reserve(pieces.size() + 1);
  starts.push_back(0);
  for (const Piece& p : pieces) {
    places.push_back(p.displacement - pieces[0].displacement);
    starts.push_back(starts.back() + p.bytes);
  }
  return must_make(Blocks(std::move(places), std::move(starts)));
}

bool one_shape(const Pieces& pieces) noexcept {
  return std::all_of(pieces.begin(), pieces.end(), [&](const Piece& p) { return same_shape(pieces[0], p); });
}

/// Whether copies of `child` go on in one another: the last run of each in the first of the next.
bool has_seam(std::int64_t stride, const Node& child) noexcept {
  return child.block() == nullptr && child.last_at + child.last_bytes == stride;
}

/// Copies whose seams were opened, by child and count: written out once in a sequence, then shared.
using Opened = std::map<std::pair<NodePtr, std::int64_t>, NodePtr>;

NodePtr strided_once(std::int64_t count, std::int64_t stride, const NodePtr& child, Opened& opened) {
  if (!has_seam(stride, *child)) return canonical_strided(count, stride, child);
  NodePtr& node = opened[{child, count}];
  if (node == nullptr) node = canonical_strided(count, stride, child);
  return node;
}

/// Replaces rolled pieces with seams by the lists that they are when those are opened (open_seam: order,
/// size, bounds). True if there was one; the sequence then has fewer runs.
bool open_seams(Pieces& pieces, Opened& opened) {
  bool changed = false;
  for (Piece& piece : pieces) {
    const Strided* s = piece.node ? piece.node->strided() : nullptr;
    if (s == nullptr || !has_seam(s->stride, *s->child)) continue;
    piece = make_piece(piece.displacement, strided_once(s->count, s->stride, s->child, opened));
    changed = true;
  }
  return changed;
}

/// The tree of a group. Its pieces were merged, joined and rolled as a part of the sequence, and its lists
/// were opened or, as there are too many, left whole there, once for all: so nothing is written out here, and
/// only a period of its own is left to be found.
Placed fold_group(Pieces pieces, Opened& opened) {
  const std::int64_t origin = pieces[0].displacement;
  if (pieces.size() == 1) return {origin, node_of(pieces[0])};
  const auto period = find_period(pieces);
  if (!period) return {origin, one_shape(pieces) ? make_indexed(pieces) : make_blocks(pieces)};
  const auto copies = static_cast<std::int64_t>(pieces.size() / period->pieces);
  pieces.resize(period->pieces);
  const Placed one = fold_group(std::move(pieces), opened);
  return {origin, strided_once(copies, period->shift, one.node, opened)};
}

/// A composite whose children are the groups of the sequence, each canonical by itself. Where one opened a
/// seam and is a composite, its children stand here instead: it may have nearly all of the bytes (kMaxDepth).
NodePtr make_composite(Pieces pieces, Opened& opened) {
  Composite composite;
  const std::int64_t origin = pieces[0].displacement;
  const auto add = [&](std::int64_t at, NodePtr node) {
    composite.displacements.push_back(at - origin);
    composite.children.push_back(std::move(node));
  };
  for (std::size_t i = 0; i < pieces.size();) {
    std::size_t end = i + 1;
    while (end < pieces.size() && same_group(pieces[i], pieces[end])) ++end;
    if (end - i == 1) {
      add(pieces[i].displacement, node_of(pieces[i]));
    } else {
      const auto from = pieces.begin() + static_cast<std::ptrdiff_t>(i);
      const auto to = pieces.begin() + static_cast<std::ptrdiff_t>(end);
      const Placed group =
          fold_group(Pieces(std::make_move_iterator(from), std::make_move_iterator(to)), opened);
      if (const auto* parts = std::get_if<Composite>(&group.node->form)) {
        for (std::size_t k = 0; k < parts->children.size(); ++k)
          add(group.displacement + parts->displacements[k], parts->children[k]);
      } else {
        add(group.displacement, group.node);
      }
    }
    i = end;
  }
  STRIA_CHECK(fill_starts(composite), "parts of memory that fits 64 bits fit 64 bits");
  return must_make(std::move(composite));
}

/// The list node of a sequence that does not fold any further.
NodePtr make_list(Pieces pieces, Opened& opened) {
  const bool all_blocks = std::none_of(pieces.begin(), pieces.end(), [](const Piece& p) { return !!p.node; });
  if (one_shape(pieces)) return make_indexed(pieces);
  if (all_blocks) return make_blocks(pieces);
  return make_composite(std::move(pieces), opened);
}

/// Copies of `child` whose last run goes on in the next copy's first run: joins them across the seam.
///   F M L | F M L | F M L   ->   F M, (LF M) (LF M), L
/// order: the same runs in the same sequence, L and F of the seam written as one run LF; size, bounds: no
/// byte moves. The result has count - 1 runs less, and no seam: M's end touching L was merged when `child`
/// was made.
NodePtr open_seam(std::int64_t count, std::int64_t stride, const NodePtr& child) {
  if (child->runs <= kExpandRuns / count) {
    Pieces copies;
    copies.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) copies.push_back(make_piece(i * stride, child));
    return canonical_sequence(std::move(copies)).node;
  }
  Pieces all{make_piece(0, child)};
  open_front(all);
  open_back(all);
  const Piece first = all.front();
  const Piece last = all.back();
  Pieces inner{{last.displacement, last.bytes + first.bytes, nullptr}};
  for (std::size_t i = 1; i + 1 < all.size(); ++i) {
    inner.push_back(all[i]);
    inner.back().displacement += stride;
  }
  const Placed middle = canonical_sequence(std::move(inner));
  all.pop_back();
  all.push_back(make_piece(middle.displacement, canonical_strided(count - 1, stride, middle.node)));
  all.push_back({last.displacement + (count - 1) * stride, last.bytes, nullptr});
  return canonical_sequence(std::move(all)).node;
}

}  // namespace

Placed canonical_sequence(Pieces pieces) {
  STRIA_ASSERT(!pieces.empty(), "a sequence has at least one piece");
  if (pieces.size() > 1) {
    if (count_runs(pieces, kExpandRuns) <= kExpandRuns)
      pieces = expand(pieces);
    else
      pieces = splice_lists(std::move(pieces), kSpliceEntries);
  }
  Opened opened;
  // Every round that goes on has made the sequence shorter, or of fewer runs.
  for (;;) {
    merge_adjacent(pieces);
    join_progressions(pieces);
    const std::int64_t origin = pieces[0].displacement;
    if (pieces.size() == 1) return {origin, node_of(pieces[0])};
    if (const auto period = find_period(pieces)) {
      const auto copies = static_cast<std::int64_t>(pieces.size() / period->pieces);
      pieces.resize(period->pieces);
      Placed one = canonical_sequence(std::move(pieces));
      return {origin, canonical_strided(copies, period->shift, std::move(one.node))};
    }
    if (!roll_runs(pieces)) return {origin, make_list(open_short_rows(std::move(pieces)), opened)};
    if (open_seams(pieces, opened)) pieces = splice_lists(std::move(pieces), kSpliceEntries);
  }
}

NodePtr canonical_strided(std::int64_t count, std::int64_t stride, NodePtr child) {
  if (count == 1) return child;
  // Copies that follow each other without a gap are one block.
  // order: byte j of copy i is byte i * bytes + j of the block; size count * bytes; bounds: no byte moves.
  if (const Block* block = child->block(); block && block->bytes == stride)
    return must_make(Block{count * block->bytes});
  // Levels that are one progression are one level.
  // order: element (i, j) lies at i * stride + j * t = (i m + j) t, and (i, j) is the (i m + j)th in order.
  if (const Strided* inner = child->strided()) {
    const Checked covered = Checked(inner->count) * inner->stride;
    if (covered.ok() && covered.value() == stride)
      return canonical_strided(count * inner->count, inner->stride, inner->child);
  }
  if (has_seam(stride, *child)) return open_seam(count, stride, child);
  return must_make(Strided{count, stride, std::move(child)});
}

}  // namespace stria::datatype
