#include "datatype/in_step.hpp"

#include <algorithm>

#include "datatype/flat.hpp"
#include "datatype/mover.hpp"
#include "datatype/sequence.hpp"
#include "datatype/walk.hpp"

namespace stria::datatype {
namespace {

/// Entries of two lists that are compared, then copied: their places and starts stay in the first-level
/// cache.
constexpr std::int64_t kCompared = 512;

bool in_step(const Place& from, const Place& to) noexcept;

/// Whether two nodes of one size can be walked down together. Compares only the outermost forms, and those of
/// repeated children below them.
bool alike(const Node& a, const Node& b) noexcept {
  if (a.block() != nullptr || b.block() != nullptr) return true;
  const Sequence x = sequence_of(a), y = sequence_of(b);
  if (x.child != nullptr && y.child != nullptr) return in_step({x, 0, 0}, {y, 0, 0});
  return a.form.index() == b.form.index();
}

/// Whether InStep::sequences() can copy between these places.
bool in_step(const Place& from, const Place& to) noexcept {
  const Sequence &a = from.sequence, &b = to.sequence;
  if (flats_match(from, to)) return true;
  const std::int64_t x = a.child->size, y = b.child->size;
  if (x == y) {
    // Where only one side has records, the children of the other side have too many runs for a record; where
    // both sides have them, the two are at different bytes of a record. Short unlike lists go through the
    // bounce buffer faster together than one by one.
    const bool records = a.record != nullptr || b.record != nullptr;
    return from.inside == to.inside && alike(*a.child, *b.child) &&
           (!records || sequence_of(*a.child).child != nullptr);
  }
  if (x > y) {
    const Sequence opened = sequence_of(*a.child);
    return opened.child != nullptr && is_whole(x, *b.child) && in_step(inside_of(from, opened), to);
  }
  const Sequence opened = sequence_of(*b.child);
  return opened.child != nullptr && is_whole(y, *a.child) && in_step(from, inside_of(to, opened));
}

/// A node, and the address of its first byte in typemap order. As a parameter: two registers.
struct Instance {
  const Node& node;
  Address memory;
};

/// The walk down two trees at once, which copies where the trees are alike and bounces where they differ.
class InStep {
 public:
  explicit InStep(const Kernels& k) noexcept : kernels_(k) {}

  std::int64_t bounced() const noexcept { return bounced_; }

  /// Copies `length` bytes between two places for which in_step() holds.
  void sequences(Place from, Place to, std::int64_t length) noexcept {
    const Sequence &a = from.sequence, &b = to.sequence;
    if (flats_match(from, to)) return copy_flat(kernels_, from, to, length);
    const std::int64_t x = a.child->size, y = b.child->size;
    if (x == y) return children(from, to, length);
    Place& larger = x > y ? from : to;
    Place& smaller = x > y ? to : from;
    const Sequence opened = sequence_of(*larger.sequence.child);
    while (length > 0) {
      const std::int64_t part = std::min(larger.sequence.child->size - larger.inside, length);
      const Place inner = inside_of(larger, opened);
      if (x > y)
        sequences(inner, smaller, part);
      else
        sequences(smaller, inner, part);
      larger.advance(part);
      smaller.advance(part);
      length -= part;
    }
  }

 private:
  /// Copies stream bytes [offset, offset + length) between two nodes of one size.
  void nodes(Instance from, Instance to, std::int64_t offset, std::int64_t length) noexcept {
    if (length == 0) return;
    const Node &a = from.node, &b = to.node;
    if (a.block() != nullptr) return unpack(to, offset, length, moved(from.memory, offset));
    if (b.block() != nullptr) return pack(from, offset, length, moved(to.memory, offset));
    const auto* list_a = std::get_if<Blocks>(&a.form);
    const auto* list_b = std::get_if<Blocks>(&b.form);
    if (list_a != nullptr && list_b != nullptr && list_a->starts.is_narrow() == list_b->starts.is_narrow()) {
      if (list_a->starts.is_narrow()) return blocks<std::int32_t>(from, to, offset, length);
      return blocks<std::int64_t>(from, to, offset, length);
    }
    const auto* parts_a = std::get_if<Composite>(&a.form);
    const auto* parts_b = std::get_if<Composite>(&b.form);
    if (parts_a != nullptr && parts_b != nullptr) return composites(from, to, offset, length);
    const Sequence x = sequence_of(a), y = sequence_of(b);
    if (x.child != nullptr && y.child != nullptr) {
      Place here{x, from.memory, 0}, there{y, to.memory, 0};
      here.advance(offset);
      there.advance(offset);
      if (in_step(here, there)) return sequences(here, there, length);
    }
    bounce(from, to, offset, length);
  }

  /// Copies `length` bytes between two places whose children have one size.
  void children(Place from, Place to, std::int64_t length) noexcept {
    const Node &a = *from.sequence.child, &b = *to.sequence.child;
    if (from.inside > 0) {
      const std::int64_t part = std::min(a.size - from.inside, length);
      nodes({a, from()}, {b, to()}, from.inside, part);
      length -= part;
      ++from.next;
      ++to.next;
    }
    std::int64_t whole = elements_in(length, a);
    const std::int64_t rest = length - whole * a.size;
    if (rows(from, to, whole)) {
      from.next += whole;
      to.next += whole;
    } else {
      for (; whole > 0; --whole, ++from.next, ++to.next) nodes({a, from()}, {b, to()}, 0, a.size);
    }
    if (rest > 0) nodes({a, from()}, {b, to()}, 0, rest);
  }

  /// Copies `whole` children where on both sides the children are rows of blocks of one size, at a stride;
  /// false, and nothing is copied, where they are not.
  bool rows(const Place& from, const Place& to, std::int64_t whole) const noexcept {
    const Sequence &a = from.sequence, &b = to.sequence;
    const Strided *x = a.child->strided(), *y = b.child->strided();
    if (whole == 0 || a.list != nullptr || b.list != nullptr || x == nullptr || y == nullptr) return false;
    const Block *here = x->child->block(), *there = y->child->block();
    if (here == nullptr || there == nullptr || here->bytes != there->bytes) return false;
    kernels_.nest[kernel::width_of(here->bytes)](
        {from(), a.stride, x->stride, to(), b.stride, y->stride, whole, x->count, here->bytes});
    return true;
  }

  void pack(Instance from, std::int64_t offset, std::int64_t length, Address out) const noexcept {
    Mover<kPacking> mover(kernels_, out);
    walk_range(from.node, from.memory, offset, length, mover);
  }
  void unpack(Instance to, std::int64_t offset, std::int64_t length, Address in) const noexcept {
    Mover<kUnpacking> mover(kernels_, in);
    walk_range(to.node, to.memory, offset, length, mover);
  }

  [[gnu::noinline]] void bounce(Instance from, Instance to, std::int64_t offset,
                                std::int64_t length) noexcept {
    alignas(64) std::byte buffer[kBounce];
    bounced_ += length;
    while (length > 0) {
      const std::int64_t part = std::min(length, kBounce);
      pack(from, offset, part, address_of(buffer));
      unpack(to, offset, part, address_of(buffer));
      offset += part;
      length -= part;
    }
  }

  /// Copies the whole blocks [i, end) of the list `from`, part by part: by one loop where the list `to` has
  /// blocks of the same lengths there, otherwise through the bounce buffer.
  template <class Int>
  void whole_blocks(Instance from, Instance to, std::int64_t i, std::int64_t end) noexcept {
    const Blocks& x = *std::get_if<Blocks>(&from.node.form);
    const Blocks& y = *std::get_if<Blocks>(&to.node.form);
    const Int* starts = x.starts.data<Int>();
    const Int* others = y.starts.data<Int>();
    const auto entries = static_cast<std::int64_t>(y.displacements.size());
    const ListKernels<Int>& lists = kernels_.lists<Int>();
    auto stretch = stretch_at(x.stretches, i);
    while (i < end) {
      const std::int64_t n = std::min({stretch->end, end, i + kCompared}) - i;
      if (i + n <= entries && (starts == others || std::equal(starts + i, starts + i + n + 1, others + i))) {
        const kernel::ListEnds<Int> ends{from.memory, x.displacements.data<Int>() + i, to.memory,
                                         y.displacements.data<Int>() + i};
        if (stretch->equal)
          lists.indexed_across[kernel::width_of(stretch->bytes)](ends, n, stretch->bytes);
        else
          lists.blocks_across(ends, starts + i, n, stretch->bytes);
      } else {
        bounce(from, to, starts[i], starts[i + n] - starts[i]);
      }
      i += n;
      if (i == stretch->end) ++stretch;
    }
  }
  template <class Int>
  void blocks(Instance from, Instance to, std::int64_t offset, std::int64_t length) noexcept {
    const Blocks& x = *std::get_if<Blocks>(&from.node.form);
    const Int* starts = x.starts.data<Int>();
    const std::size_t parts = x.displacements.size();
    const std::int64_t end = offset + length;
    std::int64_t i = part_at(starts, parts, offset);
    if (offset > starts[i] || end < starts[i + 1]) {
      const std::int64_t part = std::min<std::int64_t>(end, starts[i + 1]) - offset;
      unpack(to, offset, part, moved(from.memory, x.displacements.data<Int>()[i] + offset - starts[i]));
      if (end <= starts[++i]) return;
    }
    const std::int64_t last =
        end == starts[parts] ? static_cast<std::int64_t>(parts) : part_at(starts, parts, end);
    whole_blocks<Int>(from, to, i, last);
    if (end > starts[last])
      unpack(to, starts[last], end - starts[last], moved(from.memory, x.displacements.data<Int>()[last]));
  }

  void composites(Instance from, Instance to, std::int64_t offset, std::int64_t length) noexcept {
    const Composite& x = *std::get_if<Composite>(&from.node.form);
    const Composite& y = *std::get_if<Composite>(&to.node.form);
    const std::int64_t end = offset + length;
    const auto first = static_cast<std::size_t>(part_at(x.starts.data(), x.children.size(), offset));
    for (std::size_t i = first; offset < end; ++i) {
      const bool alike =
          i < y.children.size() && x.starts[i] == y.starts[i] && x.starts[i + 1] == y.starts[i + 1];
      if (!alike) return bounce(from, to, offset, end - offset);
      const std::int64_t part = std::min(end, x.starts[i + 1]) - offset;
      nodes({*x.children[i], moved(from.memory, x.displacements[i])},
            {*y.children[i], moved(to.memory, y.displacements[i])}, offset - x.starts[i], part);
      offset += part;
    }
  }

  const Kernels& kernels_;
  std::int64_t bounced_ = 0;
};

Place place_of(const Side& side, const Sequence& sequence) noexcept {
  Place p{sequence, moved(address_of(side.rest.base), side.layout().origin()), 0};
  p.advance(side.rest.offset);
  return p;
}

}  // namespace

bool try_in_step(const Side& src, const Side& dst, std::int64_t* bounced) noexcept {
  const std::int64_t length = src.rest.length;
  const Repeat from = repeat_of(src.layout(), src.rest.count), to = repeat_of(dst.layout(), dst.rest.count);
  const auto try_these = [&](const Sequence& a, const Sequence& b) {
    if (a.child == nullptr || b.child == nullptr) return false;
    const Place here = place_of(src, a), there = place_of(dst, b);
    if (flats_match(here, there)) {
      copy_flat(src.kernels, here, there, length);
      return true;
    }
    if (!in_step(here, there)) return false;
    InStep walk(src.kernels);
    walk.sequences(here, there, length);
    *bounced += walk.bounced();
    return true;
  };
  if (try_these(sequence_of(from), sequence_of(to))) return true;
  // A sequence of instances on one side may be in step with the children of one instance on the other, and
  // two repeated lists of different lengths may be in step as the children of all their lists. So try each
  // pair.
  const Sequence as[] = {sequence_of(from), instances_of(src.layout()), children_of_lists(from)};
  const Sequence bs[] = {sequence_of(to), instances_of(dst.layout()), children_of_lists(to)};
  for (const Sequence& a : as)
    for (const Sequence& b : bs)
      if (try_these(a, b)) return true;
  return false;
}

bool try_permuted(const Side& src, const Side& dst) noexcept {
  if (src.kernels.permute_across == nullptr) return false;
  const Sequence a = sequence_of(repeat_of(src.layout(), src.rest.count)),
                 b = sequence_of(repeat_of(dst.layout(), dst.rest.count));
  if (a.record == nullptr || b.record == nullptr) return false;
  const Place from = place_of(src, a), to = place_of(dst, b);
  if (!permutes_across(src.kernels, from, to)) return false;
  copy_flat(src.kernels, from, to, src.rest.length);
  return true;
}

bool has_list(const Side& side) noexcept {
  const Node* node = &side.layout().root();
  while (const Strided* s = node->strided()) node = s->child.get();
  return node->block() == nullptr;
}

}  // namespace stria::datatype
