// The walk over a range of the packed stream. It calls a sink with the runs of memory of the range; pack,
// unpack, transfer and iovecs are sinks.
//
// A sink gets the runs in stream order, singly or many by one call:
//   bool run(Address, bytes)
//   bool strided(Address, count, stride, bytes)
//   bool nest(Address, count, stride, inner count, inner stride, bytes)
//   bool records(Address, count, stride, record)
//   bool listed_records(Address, displacements, count, record)
//   bool indexed(Address, displacements, count, bytes)
//   bool blocks(Address, displacements, starts, count, size that few blocks exceed)
// A function of the sink returns false to stop the walk. A sink that needs single runs derives from RunSink.
// (nest() and the functions of the walk over equal children have six and seven parameters, because addresses,
// strides and counts then stay in registers: kernels/kernels.hpp.)
//
// At each level of the tree a range is at most a partial element, whole elements, and a partial element. Only
// into the partial elements the walk descends with an offset. So seeking costs one division per level (by a
// Divisor, or a binary search in lists of unequal parts), and recursion is bounded by kMaxDepth.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/assert.hpp"
#include "datatype/address.hpp"
#include "datatype/range.hpp"

namespace stria::datatype {

/// A sink that calls Derived::run() for each single run.
template <class Derived>
struct RunSink {
  bool strided(Address memory, std::int64_t count, std::int64_t stride, std::int64_t bytes) noexcept {
    for (std::int64_t i = 0; i < count; ++i) {
      if (!self().run(memory, bytes)) return false;
      memory = moved(memory, stride);
    }
    return true;
  }
  bool nest(Address memory, std::int64_t count, std::int64_t stride, std::int64_t inner,
            std::int64_t inner_stride, std::int64_t bytes) noexcept {
    for (std::int64_t i = 0; i < count; ++i) {
      if (!strided(memory, inner, inner_stride, bytes)) return false;
      memory = moved(memory, stride);
    }
    return true;
  }
  bool record(Address memory, const Record& record) noexcept {
    for (const Move& move : record.moves)
      if (!self().run(moved(memory, move.memory), move.bytes)) return false;
    return true;
  }
  bool records(Address memory, std::int64_t count, std::int64_t stride, const Record& each) noexcept {
    for (std::int64_t i = 0; i < count; ++i) {
      if (!record(memory, each)) return false;
      memory = moved(memory, stride);
    }
    return true;
  }
  template <class Int>
  bool listed_records(Address memory, const Int* displacements, std::int64_t count,
                      const Record& each) noexcept {
    for (std::int64_t i = 0; i < count; ++i)
      if (!record(moved(memory, displacements[i]), each)) return false;
    return true;
  }
  template <class Int>
  bool indexed(Address memory, const Int* displacements, std::int64_t count, std::int64_t bytes) noexcept {
    for (std::int64_t i = 0; i < count; ++i)
      if (!self().run(moved(memory, displacements[i]), bytes)) return false;
    return true;
  }
  template <class Int>
  bool blocks(Address memory, const Int* displacements, const Int* starts, std::int64_t count,
              std::int64_t /*most*/) noexcept {
    for (std::int64_t i = 0; i < count; ++i)
      if (!self().run(moved(memory, displacements[i]), starts[i + 1] - starts[i])) return false;
    return true;
  }

 private:
  Derived& self() noexcept { return static_cast<Derived&>(*this); }
};

template <class Sink>
bool walk_range(const Node& node, Address memory, std::int64_t offset, std::int64_t length,
                Sink& sink) noexcept;

/// Walks the whole elements [first, first + count) of a sequence of equal children, element 0 of which lies
/// at `memory`. The children are `stride` apart, or at `displacements`.
template <class Sink>
bool walk_elements(const Node& child, const Record* record, Address memory, std::int64_t stride,
                   std::int64_t first, std::int64_t count, Sink& sink) noexcept {
  if (count == 0) return true;
  memory = moved(memory, first * stride);
  if (record != nullptr) return sink.records(memory, count, stride, *record);
  if (const Block* block = child.block()) return sink.strided(memory, count, stride, block->bytes);
  if (const Strided* inner = child.strided()) {
    if (const Block* block = inner->child->block())
      return sink.nest(memory, count, stride, inner->count, inner->stride, block->bytes);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (!walk_range(child, memory, 0, child.size, sink)) return false;
    memory = moved(memory, stride);
  }
  return true;
}
template <class Int, class Sink>
bool walk_elements(const Node& child, const Record* record, Address memory, const Int* displacements,
                   std::int64_t first, std::int64_t count, Sink& sink) noexcept {
  if (count == 0) return true;
  if (record != nullptr) return sink.listed_records(memory, displacements + first, count, *record);
  if (const Block* block = child.block())
    return sink.indexed(memory, displacements + first, count, block->bytes);
  for (std::int64_t i = first; i < first + count; ++i)
    if (!walk_range(child, moved(memory, displacements[i]), 0, child.size, sink)) return false;
  return true;
}

/// v / node.size for v >= 0 and a node that has bytes. Most elements have a size that is a power of two,
/// where a shift is enough.
inline std::int64_t elements_in(std::int64_t v, const Node& node) noexcept {
  return node.size_log2 >= 0 ? v >> node.size_log2 : node.by_size.quotient(v);
}
/// Whether v is a multiple of node.size.
inline bool is_whole(std::int64_t v, const Node& node) noexcept {
  return elements_in(v, node) * node.size == v;
}

inline std::int64_t place_of(std::int64_t stride, std::int64_t i) noexcept {
  return i * stride;
}
template <class Int>
std::int64_t place_of(const Int* displacements, std::int64_t i) noexcept {
  return displacements[i];
}

/// Walks stream bytes [offset, offset + length) of a sequence of equal children; `places` is a stride or a
/// list of displacements.
template <class Places, class Sink>
bool walk_equal(const Node& child, const Record* record, Address memory, Places places, std::int64_t offset,
                std::int64_t length, Sink& sink) noexcept {
  std::int64_t i = 0;
  if (offset > 0) {
    i = elements_in(offset, child);
    const std::int64_t inside = offset - i * child.size;
    if (inside > 0) {
      const std::int64_t part = std::min(child.size - inside, length);
      if (!walk_range(child, moved(memory, place_of(places, i)), inside, part, sink)) return false;
      length -= part;
      ++i;
    }
  }
  const std::int64_t whole = elements_in(length, child);
  if (!walk_elements(child, record, memory, places, i, whole, sink)) return false;
  const std::int64_t rest = length - whole * child.size;
  return rest == 0 || walk_range(child, moved(memory, place_of(places, i + whole)), 0, rest, sink);
}

/// The index of the part that holds stream byte `offset`, in a list of `parts` parts with prefix sums
/// `starts`.
template <class Int>
std::int64_t part_at(const Int* starts, std::size_t parts, std::int64_t offset) noexcept {
  if (offset == 0) return 0;
  return std::upper_bound(starts, starts + parts + 1, offset) - starts - 1;
}

/// The stretch that holds block i, which is a block of the list.
inline auto stretch_at(const std::vector<Stretch>& stretches, std::int64_t i) noexcept {
  return std::upper_bound(stretches.begin(), stretches.end(), i,
                          [](std::int64_t block, const Stretch& s) { return block < s.end; });
}

template <class Int, class Sink>
bool walk_blocks(const Blocks& list, Address memory, std::int64_t offset, std::int64_t length,
                 Sink& sink) noexcept {
  const Int* displacements = list.displacements.template data<Int>();
  const Int* starts = list.starts.template data<Int>();
  const std::size_t parts = list.displacements.size();
  const std::int64_t end = offset + length;
  std::int64_t i = part_at(starts, parts, offset);
  if (offset > starts[i] || end < starts[i + 1]) {
    const std::int64_t inside = offset - starts[i];
    if (!sink.run(moved(memory, displacements[i] + inside),
                  std::min<std::int64_t>(end, starts[i + 1]) - offset))
      return false;
    if (end <= starts[++i]) return true;
  }
  const std::int64_t last =
      end == starts[parts] ? static_cast<std::int64_t>(parts) : part_at(starts, parts, end);
  for (auto s = stretch_at(list.stretches, i); i < last; ++s) {
    const std::int64_t n = std::min(s->end, last) - i;
    if (!(s->equal ? sink.indexed(memory, displacements + i, n, s->bytes)
                   : sink.blocks(memory, displacements + i, starts + i, n, s->bytes)))
      return false;
    i += n;
  }
  return end == starts[last] || sink.run(moved(memory, displacements[last]), end - starts[last]);
}

template <class Sink>
bool walk_composite(const Composite& list, Address memory, std::int64_t offset, std::int64_t length,
                    Sink& sink) noexcept {
  const std::int64_t end = offset + length;
  for (auto i = static_cast<std::size_t>(part_at(list.starts.data(), list.children.size(), offset));
       offset < end; ++i) {
    const std::int64_t part = std::min(end, list.starts[i + 1]) - offset;
    if (!walk_range(*list.children[i], moved(memory, list.displacements[i]), offset - list.starts[i], part,
                    sink))
      return false;
    offset += part;
  }
  return true;
}

/// Walks stream bytes [offset, offset + length) of one node whose first byte in typemap order is at `memory`;
/// length > 0. False when the sink stopped the walk.
template <class Sink>
bool walk_range(const Node& node, Address memory, std::int64_t offset, std::int64_t length,
                Sink& sink) noexcept {
  switch (node.form.index()) {
    case 0:
      return sink.run(moved(memory, offset), length);
    case 1: {
      const Strided& s = *std::get_if<Strided>(&node.form);
      return walk_equal(*s.child, node.record.get(), memory, s.stride, offset, length, sink);
    }
    case 2: {
      const Indexed& x = *std::get_if<Indexed>(&node.form);
      const Record* record = node.record.get();
      if (x.displacements.is_narrow())
        return walk_equal(*x.child, record, memory, x.displacements.data<std::int32_t>(), offset, length,
                          sink);
      return walk_equal(*x.child, record, memory, x.displacements.data<std::int64_t>(), offset, length, sink);
    }
    case 3: {
      const Blocks& blocks = *std::get_if<Blocks>(&node.form);
      return blocks.starts.is_narrow() ? walk_blocks<std::int32_t>(blocks, memory, offset, length, sink)
                                       : walk_blocks<std::int64_t>(blocks, memory, offset, length, sink);
    }
    default:
      return walk_composite(*std::get_if<Composite>(&node.form), memory, offset, length, sink);
  }
}

/// `count` instances of a layout as a strided level above the root, fused with the root where the two levels
/// are one progression.
struct Repeat {
  std::int64_t count = 0;
  std::int64_t stride = 0;
  const Node* child = nullptr;
  const Record* record = nullptr;
};
inline Repeat repeat_of(const Layout& layout, std::int64_t count) noexcept {
  const Node& root = layout.root();
  const Strided* s = root.strided();
  std::int64_t covered = 0;
  if (s != nullptr &&
      (count == 1 || (!__builtin_mul_overflow(s->count, s->stride, &covered) && covered == layout.extent())))
    return {count * s->count, s->stride, s->child.get(), root.record.get()};
  return {count, layout.extent(), &root, layout.record()};
}

/// Walks a range of the packed stream of a layout's instances. False when the sink stopped the walk.
template <class Sink>
bool walk(const Range& range, Sink& sink) noexcept {
  const Layout& layout = *range.layout;
  const std::int64_t count = range.count, offset = range.offset, length = range.length;
  STRIA_ASSERT(count >= 0 && offset >= 0 && length >= 0, "a range has no negative part");
  STRIA_ASSERT(length <= layout.size() * count - offset, "a range lies within the stream");
  if (length == 0) return true;
  const Address memory = moved(address_of(range.base), layout.origin());
  if (layout.is_contiguous(count)) return sink.run(moved(memory, offset), length);
  const Repeat repeat = repeat_of(layout, count);
  if (offset == 0 && length == repeat.count * repeat.child->size)
    return walk_elements(*repeat.child, repeat.record, memory, repeat.stride, 0, repeat.count, sink);
  return walk_equal(*repeat.child, repeat.record, memory, repeat.stride, offset, length, sink);
}

}  // namespace stria::datatype
