#include "datatype/canonical.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/assert.hpp"
#include "datatype/checked.hpp"
#include "datatype/repetition.hpp"
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

/// Whether copies of `child`, `stride` apart, have seams: the last run of a copy then continues in the first
/// run of the next copy.
bool has_seam(std::int64_t stride, const Node& child) noexcept {
  return child.block() == nullptr && child.last_at + child.last_bytes == stride;
}

/// The trees of strided copies whose seams were opened, by child and count. Equal copies of one sequence
/// share a tree, so that each is written out once.
using Opened = std::map<std::pair<NodePtr, std::int64_t>, NodePtr>;

/// canonical_strided(), which looks copies with seams up in `opened` first.
NodePtr strided_once(std::int64_t count, std::int64_t stride, const NodePtr& child, Opened& opened) {
  if (!has_seam(stride, *child)) return canonical_strided(count, stride, child);
  NodePtr& node = opened[{child, count}];
  if (node == nullptr) node = canonical_strided(count, stride, child);
  return node;
}

/// Replaces each strided piece whose copies have seams by its tree with the seams opened (open_seam proves
/// order, size, bounds). True if there was such a piece; the sequence then has fewer runs.
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

NodePtr make_list(Pieces pieces, Opened& opened);

/// The tree of a group: neighbouring pieces that form one part of a composite, or that a repetition repeats.
/// The passes over the whole sequence have already merged, joined and rolled the pieces of the group, and
/// have opened its lists or left them whole as too long. So fold_group() writes nothing out and looks only
/// for a period within the group.
/// order: copy i of a period holds pieces [i p, (i+1) p), and a list means its pieces one after the other;
/// size, bounds: no byte moves.
Placed fold_group(Pieces pieces, Opened& opened) {
  const std::int64_t origin = pieces[0].displacement;
  if (pieces.size() == 1) return {origin, node_of(pieces[0])};
  const auto period = find_period(pieces);
  if (!period) return {origin, make_list(std::move(pieces), opened)};
  const auto copies = static_cast<std::int64_t>(pieces.size() / period->pieces);
  pieces.resize(period->pieces);
  const Placed one = fold_group(std::move(pieces), opened);
  return {origin, strided_once(copies, period->shift, one.node, opened)};
}

/// A composite whose children are the groups of the sequence, each canonical by itself. The tree of a group
/// in which a seam was opened may be a composite; then the children of that composite are added in its place,
/// because it may have nearly all of the bytes, and a composite within a composite may have half at most
/// (kMaxDepth).
/// order: the children come in the order of the groups, and each holds the pieces of its group in sequence
/// (fold_group); size: the sum of the pieces; bounds: each child lies where the first piece of its group
/// does, so no byte moves.
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
/// order: a list means its entries in sequence; size, bounds: each entry lies where its piece does.
NodePtr make_list(Pieces pieces, Opened& opened) {
  const bool all_blocks = std::none_of(pieces.begin(), pieces.end(), [](const Piece& p) { return !!p.node; });
  if (one_shape(pieces)) return make_indexed(pieces);
  if (all_blocks) return make_blocks(pieces);
  return make_composite(std::move(pieces), opened);
}

/// The distance from the lowest to the highest byte of `n` pieces.
std::int64_t span_of(const Piece* pieces, std::size_t n) noexcept {
  std::int64_t low = INT64_MAX, high = INT64_MIN;
  for (const Piece* p = pieces; p < pieces + n; ++p) {
    low = std::min(low, p->displacement + (p->node ? p->node->true_lb : 0));
    high = std::max(high, p->displacement + (p->node ? p->node->true_ub : p->bytes));
  }
  return high - low;
}

/// Chooses with which of the first `spare` + 1 pieces a group of `period` pieces, repeated `shift` apart,
/// begins. The group that spans the fewest bytes is best: it is cut at the largest hole, and a vector
/// register holds most of it (record.hpp). A phase whose last piece continues in the next group cuts a run,
/// and is chosen only when every phase does.
std::size_t narrowest_phase(const Piece* pieces, std::size_t period, std::int64_t shift,
                            std::size_t spare) noexcept {
  std::size_t best = 0;
  std::int64_t least = INT64_MAX;
  for (std::size_t phase = 0; phase <= spare; ++phase) {
    const bool cuts_run = pieces[phase + period - 1].end_of_last() == pieces[phase].displacement + shift;
    const std::int64_t span = cuts_run ? INT64_MAX : span_of(pieces + phase, period);
    if (span < least) best = phase;
    least = std::min(least, span);
  }
  return best;
}

/// Rolls each repetition of the shortest period that has any (repetition.hpp) into one strided piece. True if
/// anything changed.
/// order: element i of the piece holds pieces [i p, (i+1) p) of the repetition; size, bounds: no byte moves.
/// A repetition whose group contains a composite is left alone: a composite within a composite may have at
/// most half of its bytes (kMaxDepth). Pieces that were written out by expand() contain no composite.
bool roll_repetitions(Pieces& pieces, Opened& opened) {
  std::vector<Repetition> found = find_repetitions(
      pieces.size(), [&](std::size_t i, std::size_t j) { return same_shape(pieces[i], pieces[j]); },
      [&](std::size_t i, std::size_t j) { return pieces[j].displacement - pieces[i].displacement; });
  const auto at = [&](std::size_t i) { return pieces.begin() + static_cast<std::ptrdiff_t>(i); };
  std::erase_if(found, [&](const Repetition& r) {
    return std::any_of(at(r.begin), at(r.begin + r.period), [](const Piece& p) {
      return p.node && std::holds_alternative<Composite>(p.node->form);
    });
  });
  if (found.empty()) return false;
  Pieces out;
  std::size_t next = 0;
  for (const Repetition& r : found) {
    const std::int64_t shift = pieces[r.begin + r.period].displacement - pieces[r.begin].displacement;
    const std::size_t begin = r.begin + narrowest_phase(&pieces[r.begin], r.period, shift, r.spare);
    Placed one = fold_group(open_short_rows(Pieces(at(begin), at(begin + r.period))), opened);
    std::move(at(next), at(begin), std::back_inserter(out));
    out.push_back(make_piece(one.displacement, must_make(Strided{static_cast<std::int64_t>(r.copies), shift,
                                                                 std::move(one.node)})));
    next = begin + r.copies * r.period;
  }
  std::move(at(next), pieces.end(), std::back_inserter(out));
  pieces = std::move(out);
  return true;
}

/// Opens the seams of copies of `child`: joins L, the last run of a copy, with F, the first run of the next
/// one. M is what lies between F and L.
///   F M L | F M L | F M L   ->   F M, (LF M) (LF M), L
/// The result may also be F, (M LF) (M LF), M L, or be cut within M: narrowest_phase() chooses, as it does
/// for copies that are few enough to be written out and rolled.
/// order: the runs keep their sequence, and L and F of a seam become one run LF; size, bounds: no byte moves.
/// The result has count - 1 runs less, and no seam: pieces of M that touch F or L were merged when `child`
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
  // `two`: the pieces M LF M of the first two copies. Any `period` consecutive pieces of it can be the group.
  const std::size_t period = all.size() - 1;
  Pieces two(all.begin() + 1, all.end());
  two.back().bytes += all.front().bytes;
  const auto add = [&](Pieces& to, std::size_t begin, std::size_t end, std::int64_t shift) {
    for (std::size_t i = begin; i < end; ++i) {
      to.push_back(all[i]);
      to.back().displacement += shift;
    }
  };
  add(two, 1, period, stride);
  const std::size_t phase =
      period <= kLongestPeriod ? narrowest_phase(two.data(), period, stride, period - 1) : period - 1;
  const auto group = two.begin() + static_cast<std::ptrdiff_t>(phase);
  const Placed middle = canonical_sequence(Pieces(group, group + static_cast<std::ptrdiff_t>(period)));
  Pieces whole;
  add(whole, 0, phase + 1, 0);
  whole.push_back(make_piece(middle.displacement, canonical_strided(count - 1, stride, middle.node)));
  add(whole, phase + 1, all.size(), (count - 1) * stride);
  return canonical_sequence(std::move(whole)).node;
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
  // The loop ends: each round that does not return leaves a sequence of fewer pieces or of fewer runs.
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
    if (!roll_runs(pieces) && !roll_repetitions(pieces, opened))
      return {origin, make_list(open_short_rows(std::move(pieces)), opened)};
    if (open_seams(pieces, opened)) pieces = splice_lists(std::move(pieces), kSpliceEntries);
  }
}

NodePtr canonical_strided(std::int64_t count, std::int64_t stride, NodePtr child) {
  if (count == 1) return child;
  // Copies that follow each other without a gap are one block.
  // order: byte j of copy i is byte i * bytes + j of the block; size count * bytes; bounds: no byte moves.
  if (const Block* block = child->block(); block && block->bytes == stride)
    return must_make(Block{count * block->bytes});
  // Two strided levels whose elements lie at one stride fuse into one level.
  // order: element (i, j) lies at i * stride + j * t = (i m + j) t, and (i, j) is the (i m + j)th in order;
  // size: count * (m * s) = (count * m) * s; bounds: no byte moves.
  if (const Strided* inner = child->strided()) {
    const Checked covered = Checked(inner->count) * inner->stride;
    if (covered.ok() && covered.value() == stride)
      return canonical_strided(count * inner->count, inner->stride, inner->child);
  }
  if (has_seam(stride, *child)) return open_seam(count, stride, child);
  return must_make(Strided{count, stride, std::move(child)});
}

}  // namespace stria::datatype
