#include "datatype/in_step.hpp"

#include <algorithm>

#include "datatype/mover.hpp"
#include "datatype/walk.hpp"

namespace stria::datatype {
namespace {

/// Children of one size, one after the other: `list` says where, or else a stride. Instances of a list follow
/// `stride` apart.
struct Sequence {
  const Offsets* list = nullptr;
  std::int64_t entries = 0;  ///< of the list
  std::int64_t stride = 0;
  const Node* child = nullptr;

  std::int64_t place(std::int64_t i) const noexcept {
    if (list == nullptr) return i * stride;
    return i / entries * stride + (*list)[static_cast<std::size_t>(i % entries)];
  }
  /// Children from i on whose places are in one list, or at one stride.
  std::int64_t together(std::int64_t i) const noexcept {
    return list == nullptr ? INT64_MAX : entries - i % entries;
  }
  const Block* block() const noexcept { return child->block(); }
};

Sequence sequence_of(const Repeat& repeat) noexcept {
  if (const auto* indexed = std::get_if<Indexed>(&repeat.child->form))
    return {&indexed->displacements, static_cast<std::int64_t>(indexed->displacements.size()), repeat.stride,
            indexed->child.get()};
  return {nullptr, 0, repeat.stride, repeat.child};
}
/// Of a single node; no child if it is something else.
Sequence sequence_of(const Node& node) noexcept {
  if (const Strided* s = node.strided()) return {nullptr, 0, s->stride, s->child.get()};
  if (const auto* x = std::get_if<Indexed>(&node.form))
    return {&x->displacements, static_cast<std::int64_t>(x->displacements.size()), 0, x->child.get()};
  return {};
}

/// A sequence at an address, and which child is next.
struct Place {
  const Sequence& sequence;
  Address memory;
  std::int64_t next;

  Address operator()() const noexcept { return moved(memory, sequence.place(next)); }
};

template <class Int>
const Int* list_at(const Place& p) noexcept {
  return p.sequence.list->data<Int>() + p.next % p.sequence.entries;
}
/// Where the places of the list that holds the next child are counted from.
Address list_base(const Place& p) noexcept {
  return moved(p.memory, p.next / p.sequence.entries * p.sequence.stride);
}

/// `n` blocks of `bytes`, each side within one list or at one stride.
template <class Int>
void copy_together(const Kernels& k, const Place& from, const Place& to, std::int64_t n,
                   std::int64_t bytes) noexcept {
  const ListKernels<Int>& lists = k.lists<Int>();
  const kernel::Width width = kernel::width_of(bytes);
  if (to.sequence.list == nullptr) {
    lists.indexed[kPacking][width](list_base(from), list_at<Int>(from), n, to(), to.sequence.stride, bytes);
  } else if (from.sequence.list == nullptr) {
    lists.indexed[kUnpacking][width](list_base(to), list_at<Int>(to), n, from(), from.sequence.stride, bytes);
  } else {
    lists.indexed_across[width]({list_base(from), list_at<Int>(from), list_base(to), list_at<Int>(to)}, n,
                                bytes);
  }
}

/// Blocks of equal size can be paired unless the two lists have offsets of two widths.
bool pairs(const Sequence& a, const Sequence& b) noexcept {
  if (a.child == nullptr || b.child == nullptr || a.block() == nullptr || b.block() == nullptr ||
      a.block()->bytes != b.block()->bytes)
    return false;
  return a.list == nullptr || b.list == nullptr || a.list->is_narrow() == b.list->is_narrow();
}

/// `count` whole blocks of sequences that pair.
void copy_blocks(const Kernels& k, Place from, Place to, std::int64_t count) noexcept {
  const std::int64_t bytes = from.sequence.block()->bytes;
  const Offsets* list = from.sequence.list != nullptr ? from.sequence.list : to.sequence.list;
  if (list == nullptr) {
    if (count > 0)
      k.strided[kernel::width_of(bytes)](from(), from.sequence.stride, to(), to.sequence.stride, count,
                                         bytes);
    return;
  }
  while (count > 0) {
    const std::int64_t n =
        std::min({count, from.sequence.together(from.next), to.sequence.together(to.next)});
    if (list->is_narrow())
      copy_together<std::int32_t>(k, from, to, n, bytes);
    else
      copy_together<std::int64_t>(k, from, to, n, bytes);
    from.next += n;
    to.next += n;
    count -= n;
  }
}

constexpr std::int64_t kCompared = 512;  // entries: their places and starts stay in the first-level cache

/// The two-sided walk. Every pair of nodes has the same size, and a range of both is copied.
class InStep {
 public:
  explicit InStep(const Kernels& k) noexcept : kernels_(k) {}

  /// Stream bytes [offset, offset + length) of two nodes.
  void nodes(const Node& a, Address from, const Node& b, Address to, std::int64_t offset,
             std::int64_t length) const noexcept {
    if (length == 0) return;
    if (a.block() != nullptr) return unpack(b, to, offset, length, moved(from, offset));
    if (b.block() != nullptr) return pack(a, from, offset, length, moved(to, offset));
    const auto* list_a = std::get_if<Blocks>(&a.form);
    const auto* list_b = std::get_if<Blocks>(&b.form);
    if (list_a != nullptr && list_b != nullptr && list_a->starts.is_narrow() == list_b->starts.is_narrow()) {
      if (list_a->starts.is_narrow()) return blocks<std::int32_t>(a, from, b, to, offset, length);
      return blocks<std::int64_t>(a, from, b, to, offset, length);
    }
    const auto* parts_a = std::get_if<Composite>(&a.form);
    const auto* parts_b = std::get_if<Composite>(&b.form);
    if (parts_a != nullptr && parts_b != nullptr) return composites(a, from, b, to, offset, length);
    const Sequence x = sequence_of(a), y = sequence_of(b);
    const bool alike = x.child != nullptr && y.child != nullptr && x.child->size == y.child->size;
    if (alike && (pairs(x, y) || (a.record == nullptr && b.record == nullptr)))
      return children({x, from, 0}, {y, to, 0}, offset, length);
    bounce(a, from, b, to, offset, length);
  }

  /// Stream bytes [offset, offset + length) of two sequences of children of one size.
  void children(Place from, Place to, std::int64_t offset, std::int64_t length) const noexcept {
    const Node& a = *from.sequence.child;
    const Node& b = *to.sequence.child;
    const std::int64_t skipped = elements_in(offset, a);
    from.next += skipped;
    to.next += skipped;
    const std::int64_t inside = offset - skipped * a.size;
    if (inside > 0) {
      const std::int64_t part = std::min(a.size - inside, length);
      nodes(a, from(), b, to(), inside, part);
      length -= part;
      ++from.next;
      ++to.next;
    }
    std::int64_t whole = elements_in(length, a);
    const std::int64_t rest = length - whole * a.size;
    if (pairs(from.sequence, to.sequence)) {
      copy_blocks(kernels_, from, to, whole);
      from.next += whole;
      to.next += whole;
    } else {
      for (; whole > 0; --whole, ++from.next, ++to.next) nodes(a, from(), b, to(), 0, a.size);
    }
    if (rest > 0) nodes(a, from(), b, to(), 0, rest);
  }

 private:
  void pack(const Node& a, Address from, std::int64_t offset, std::int64_t length,
            Address out) const noexcept {
    Mover<kPacking> mover(kernels_, out);
    walk_range(a, from, offset, length, mover);
  }
  void unpack(const Node& b, Address to, std::int64_t offset, std::int64_t length,
              Address in) const noexcept {
    Mover<kUnpacking> mover(kernels_, in);
    walk_range(b, to, offset, length, mover);
  }

  [[gnu::noinline]] void bounce(const Node& a, Address from, const Node& b, Address to, std::int64_t offset,
                                std::int64_t length) const noexcept {
    alignas(64) std::byte buffer[kBounce];
    while (length > 0) {
      const std::int64_t part = std::min(length, kBounce);
      pack(a, from, offset, part, address_of(buffer));
      unpack(b, to, offset, part, address_of(buffer));
      offset += part;
      length -= part;
    }
  }

  /// Whole blocks [i, end) of the list of `a`, by one loop as far as the other list has them too.
  template <class Int>
  void whole_blocks(const Node& a, Address from, const Node& b, Address to, std::int64_t i,
                    std::int64_t end) const noexcept {
    const Blocks& x = *std::get_if<Blocks>(&a.form);
    const Blocks& y = *std::get_if<Blocks>(&b.form);
    const Int* starts = x.starts.data<Int>();
    const Int* others = y.starts.data<Int>();
    const auto entries = static_cast<std::int64_t>(y.displacements.size());
    const ListKernels<Int>& lists = kernels_.lists<Int>();
    auto stretch = stretch_at(x.stretches, i);
    while (i < end) {
      const std::int64_t n = std::min({stretch->end, end, i + kCompared}) - i;
      if (i + n <= entries && (starts == others || std::equal(starts + i, starts + i + n + 1, others + i))) {
        const kernel::ListEnds<Int> ends{from, x.displacements.data<Int>() + i, to,
                                         y.displacements.data<Int>() + i};
        if (stretch->equal)
          lists.indexed_across[kernel::width_of(stretch->bytes)](ends, n, stretch->bytes);
        else
          lists.blocks_across(ends, starts + i, n, stretch->bytes);
      } else {
        bounce(a, from, b, to, starts[i], starts[i + n] - starts[i]);
      }
      i += n;
      if (i == stretch->end) ++stretch;
    }
  }
  template <class Int>
  void blocks(const Node& a, Address from, const Node& b, Address to, std::int64_t offset,
              std::int64_t length) const noexcept {
    const Blocks& x = *std::get_if<Blocks>(&a.form);
    const Int* starts = x.starts.data<Int>();
    const std::size_t parts = x.displacements.size();
    const std::int64_t end = offset + length;
    std::int64_t i = part_at(starts, parts, offset);
    if (offset > starts[i] || end < starts[i + 1]) {
      const std::int64_t part = std::min<std::int64_t>(end, starts[i + 1]) - offset;
      unpack(b, to, offset, part, moved(from, x.displacements.data<Int>()[i] + offset - starts[i]));
      if (end <= starts[++i]) return;
    }
    const std::int64_t last =
        end == starts[parts] ? static_cast<std::int64_t>(parts) : part_at(starts, parts, end);
    whole_blocks<Int>(a, from, b, to, i, last);
    if (end > starts[last])
      unpack(b, to, starts[last], end - starts[last], moved(from, x.displacements.data<Int>()[last]));
  }

  void composites(const Node& a, Address from, const Node& b, Address to, std::int64_t offset,
                  std::int64_t length) const noexcept {
    const Composite& x = *std::get_if<Composite>(&a.form);
    const Composite& y = *std::get_if<Composite>(&b.form);
    const std::int64_t end = offset + length;
    const auto first = static_cast<std::size_t>(part_at(x.starts.data(), x.children.size(), offset));
    for (std::size_t i = first; offset < end; ++i) {
      const bool alike =
          i < y.children.size() && x.starts[i] == y.starts[i] && x.starts[i + 1] == y.starts[i + 1];
      if (!alike) return bounce(a, from, b, to, offset, end - offset);
      const std::int64_t part = std::min(end, x.starts[i + 1]) - offset;
      nodes(*x.children[i], moved(from, x.displacements[i]), *y.children[i], moved(to, y.displacements[i]),
            offset - x.starts[i], part);
      offset += part;
    }
  }

  const Kernels& kernels_;
};

Address memory_of(const Side& side) noexcept {
  return moved(address_of(side.base), side.layout.origin());
}

}  // namespace

bool try_equal_blocks(const Side& src, const Side& dst, std::int64_t length) noexcept {
  const Sequence from = sequence_of(repeat_of(src.layout, src.count));
  const Sequence to = sequence_of(repeat_of(dst.layout, dst.count));
  if (!pairs(from, to)) return false;
  const Node& child = *from.child;
  const std::int64_t i = elements_in(src.offset, child), j = elements_in(dst.offset, child);
  const std::int64_t inside = src.offset - i * child.size;
  if (dst.offset - j * child.size != inside) return false;
  InStep(src.kernels).children({from, memory_of(src), i}, {to, memory_of(dst), j}, inside, length);
  return true;
}

bool try_in_step(const Side& src, const Side& dst, std::int64_t length) noexcept {
  if (!has_list(src) || !has_list(dst)) return false;
  const Repeat from = repeat_of(src.layout, src.count);
  const Repeat to = repeat_of(dst.layout, dst.count);
  if (from.child->size != to.child->size || from.record != nullptr || to.record != nullptr) return false;
  const std::int64_t i = elements_in(src.offset, *from.child), j = elements_in(dst.offset, *to.child);
  const std::int64_t inside = src.offset - i * from.child->size;
  if (dst.offset - j * to.child->size != inside) return false;
  const Sequence a{nullptr, 0, from.stride, from.child}, b{nullptr, 0, to.stride, to.child};
  InStep(src.kernels).children({a, memory_of(src), i}, {b, memory_of(dst), j}, inside, length);
  return true;
}

bool has_list(const Side& side) noexcept {
  const Node* node = &side.layout.root();
  while (const Strided* s = node->strided()) node = s->child.get();
  return node->block() == nullptr;
}

}  // namespace stria::datatype
