// Rewrites of a list of pieces; each keeps order, bytes and bounds (passes.hpp).
#include "datatype/passes.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"
#include "datatype/checked.hpp"
#include "datatype/period.hpp"

namespace stria::datatype {
namespace {

void expand_node(const Node& node, std::int64_t at, Pieces& out) {
  if (const Block* block = node.block()) {
    out.push_back({at, block->bytes, nullptr});
  } else if (const Strided* strided = node.strided()) {
    for (std::int64_t i = 0; i < strided->count; ++i)
      expand_node(*strided->child, at + i * strided->stride, out);
  } else if (const auto* indexed = std::get_if<Indexed>(&node.form)) {
    for (std::size_t i = 0; i < indexed->displacements.size(); ++i)
      expand_node(*indexed->child, at + indexed->displacements[i], out);
  } else if (const auto* blocks = std::get_if<Blocks>(&node.form)) {
    for (std::size_t i = 0; i < blocks->displacements.size(); ++i)
      out.push_back({at + blocks->displacements[i], blocks->starts[i + 1] - blocks->starts[i], nullptr});
  } else {
    const auto& composite = std::get<Composite>(node.form);
    for (std::size_t i = 0; i < composite.children.size(); ++i)
      expand_node(*composite.children[i], at + composite.displacements[i], out);
  }
}

/// Entries of a piece that is a list; 0 for a block or a strided piece.
std::size_t list_length(const Piece& piece) noexcept {
  if (!piece.node) return 0;
  if (const auto* indexed = std::get_if<Indexed>(&piece.node->form)) return indexed->displacements.size();
  if (const auto* blocks = std::get_if<Blocks>(&piece.node->form)) return blocks->displacements.size();
  if (const auto* composite = std::get_if<Composite>(&piece.node->form)) return composite->children.size();
  return 0;
}

/// Appends the entries of a list piece, one level down.
void splice_one(const Piece& piece, Pieces& out) {
  if (const auto* indexed = std::get_if<Indexed>(&piece.node->form)) {
    for (std::size_t i = 0; i < indexed->displacements.size(); ++i)
      out.push_back(make_piece(piece.displacement + indexed->displacements[i], indexed->child));
  } else if (const auto* composite = std::get_if<Composite>(&piece.node->form)) {
    for (std::size_t i = 0; i < composite->children.size(); ++i)
      out.push_back(make_piece(piece.displacement + composite->displacements[i], composite->children[i]));
  } else {
    expand_node(*piece.node, piece.displacement, out);
  }
}

/// A progression: `count` copies of a shape, `stride` apart (any stride when count is 1).
struct Progression {
  std::int64_t count;
  std::int64_t stride;
  Piece first;
};

Progression progression_of(const Piece& piece) {
  if (piece.node) {
    if (const Strided* s = piece.node->strided())
      return {s->count, s->stride, make_piece(piece.displacement, s->child)};
  }
  return {1, 0, piece};
}

Piece piece_of(const Progression& p) {
  if (p.count == 1) return p.first;
  return make_piece(p.first.displacement, must_make(Strided{p.count, p.stride, node_of(p.first)}));
}

/// Whether `at` is where the next element of a progression would start.
bool continues(const Progression& a, std::int64_t at) {
  const Checked next = Checked(a.first.displacement) + Checked(a.count) * a.stride;
  return next.ok() && next.value() == at;
}

/// Sets `out` to a followed by b where the two are one progression; false where they are not. a or b has at
/// least 2 elements.
bool try_join(Progression a, const Progression& b, Piece& out) {
  if (a.count == 1) {
    // One element before a progression of the same shape: the step is b's.
    a.stride = b.stride;
    if (!same_shape(a.first, b.first) || !continues(a, b.first.displacement)) return false;
  } else {
    if (!same_shape(a.first, b.first) || (b.count > 1 && b.stride != a.stride)) return false;
    if (!continues(a, b.first.displacement)) return false;
  }
  a.count += b.count;
  out = piece_of(a);
  return true;
}

/// Length of the run of equal shapes at one constant distance that starts at `from`.
std::size_t run_length(const Pieces& pieces, std::size_t from) {
  const std::size_t n = pieces.size();
  if (from + 1 >= n || !same_shape(pieces[from], pieces[from + 1])) return 1;
  const std::int64_t step = pieces[from + 1].displacement - pieces[from].displacement;
  std::size_t end = from + 2;
  while (end < n && same_shape(pieces[from], pieces[end]) &&
         pieces[end].displacement - pieces[end - 1].displacement == step)
    ++end;
  return end - from;
}

}  // namespace

NodePtr must_make(Form form) {
  NodePtr node = make_node(std::move(form));
  STRIA_CHECK(node != nullptr, "a rewrite of memory that fits 64 bits fits 64 bits");
  return node;
}

Piece make_piece(std::int64_t displacement, const NodePtr& node) {
  return {displacement, node->size, node->block() ? nullptr : node};
}

NodePtr node_of(const Piece& piece) {
  return piece.node ? piece.node : must_make(Block{piece.bytes});
}

bool same_shape(const Piece& a, const Piece& b) noexcept {
  if (a.bytes != b.bytes || !a.node != !b.node) return false;
  return !a.node || equal(*a.node, *b.node);
}

std::int64_t count_runs(const Pieces& pieces, std::int64_t limit) noexcept {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool goes_on = i > 0 && pieces[i - 1].end_of_last() == pieces[i].displacement;
    const std::int64_t more = pieces[i].runs() - (goes_on ? 1 : 0);
    if (more > limit - sum) return limit + 1;
    sum += more;
  }
  return sum;
}

void expand_piece(const Piece& piece, Pieces& out) {
  if (piece.node)
    expand_node(*piece.node, piece.displacement, out);
  else
    out.push_back(piece);
}

Pieces expand(const Pieces& pieces) {
  Pieces out;
  out.reserve(pieces.size());
  for (const Piece& piece : pieces) expand_piece(piece, out);
  return out;
}

Pieces splice_lists(Pieces pieces, std::size_t limit) {
  // Entries of a list may be lists themselves (a composite holds indexed parts), so repeat until nothing
  // opens.
  for (;;) {
    std::size_t total = pieces.size();
    std::int64_t bytes = 0;
    for (const Piece& piece : pieces) {
      total += list_length(piece);
      bytes += piece.bytes;
    }
    const auto opens = [&](const Piece& piece) {
      return list_length(piece) > 0 && (total <= limit || piece.bytes > bytes / 2);
    };
    if (std::none_of(pieces.begin(), pieces.end(), opens)) return pieces;
    Pieces out;
    out.reserve(std::min(total, limit));
    for (Piece& piece : pieces) {
      if (opens(piece))
        splice_one(piece, out);
      else
        out.push_back(std::move(piece));
    }
    pieces = std::move(out);
  }
}

void merge_adjacent(Pieces& pieces) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    Piece& a = pieces[last];
    if (!a.node && !pieces[i].node && a.end_of_last() == pieces[i].displacement) {
      a.bytes += pieces[i].bytes;
    } else if (++last != i) {
      pieces[last] = std::move(pieces[i]);
    }
  }
  pieces.resize(last + 1);
}

void join_progressions(Pieces& pieces) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    Piece joined;
    const bool may =
        (pieces[last].node && pieces[last].node->strided()) || (pieces[i].node && pieces[i].node->strided());
    // Both pieces may be strided with one child, or one piece as a whole may equal the child of the other.
    if (may && (try_join(progression_of(pieces[last]), progression_of(pieces[i]), joined) ||
                try_join({1, 0, pieces[last]}, progression_of(pieces[i]), joined) ||
                try_join(progression_of(pieces[last]), {1, 0, pieces[i]}, joined))) {
      pieces[last] = std::move(joined);
    } else if (++last != i) {
      pieces[last] = std::move(pieces[i]);
    }
  }
  pieces.resize(last + 1);
}

std::optional<Period> find_period(const Pieces& pieces) {
  const std::size_t period = smallest_period(pieces.size(), [&](std::size_t i, std::size_t j, std::size_t p) {
    return pieces[j].displacement - pieces[i].displacement ==
               pieces[p].displacement - pieces[0].displacement &&
           same_shape(pieces[i], pieces[j]);
  });
  if (period == pieces.size()) return std::nullopt;
  return Period{period, pieces[period].displacement - pieces[0].displacement};
}

bool roll_runs(Pieces& pieces) {
  bool changed = false;
  NodePtr block;  // of the last strided piece made of blocks, reused: most of them have blocks of one length
  std::size_t out = 0;
  for (std::size_t i = 0; i < pieces.size();) {
    const std::size_t n = run_length(pieces, i);
    if (n >= kMinRoll) {
      const std::int64_t step = pieces[i + 1].displacement - pieces[i].displacement;
      const Piece first = std::move(pieces[i]);
      if (!first.node && (!block || block->size != first.bytes)) block = node_of(first);
      pieces[out++] =
          make_piece(first.displacement,
                     must_make(Strided{static_cast<std::int64_t>(n), step, first.node ? first.node : block}));
      i += n;
      changed = true;
      continue;
    }
    // Too short to roll: the pieces stay as they are. The last one may begin a longer run with those that
    // follow, so the search goes on at it.
    const std::size_t keep = n > 1 ? n - 1 : 1;
    for (std::size_t k = 0; k < keep; ++k, ++i, ++out) {
      if (out != i) pieces[out] = std::move(pieces[i]);
    }
  }
  pieces.resize(out);
  return changed;
}

void open_front(Pieces& pieces) {
  while (pieces.front().node) {
    const Piece front = std::move(pieces.front());
    Pieces opened;
    if (const Strided* s = front.node->strided()) {
      opened.push_back(make_piece(front.displacement, s->child));
      Progression rest{s->count - 1, s->stride, make_piece(front.displacement + s->stride, s->child)};
      opened.push_back(piece_of(rest));
    } else {
      splice_one(front, opened);
    }
    pieces.erase(pieces.begin());
    pieces.insert(pieces.begin(), std::make_move_iterator(opened.begin()),
                  std::make_move_iterator(opened.end()));
  }
}

void open_back(Pieces& pieces) {
  while (pieces.back().node) {
    const Piece back = std::move(pieces.back());
    pieces.pop_back();
    if (const Strided* s = back.node->strided()) {
      const std::int64_t last = back.displacement + (s->count - 1) * s->stride;
      pieces.push_back(piece_of({s->count - 1, s->stride, make_piece(back.displacement, s->child)}));
      pieces.push_back(make_piece(last, s->child));
    } else {
      splice_one(back, pieces);
    }
  }
}

}  // namespace stria::datatype
