// Sequence: equal children one after the other, at one stride or at the places of a list; what a level of a
// tree is to a transfer, which looks at two of them at once.
#pragma once

#include <cstdint>
#include <span>

#include "datatype/address.hpp"
#include "datatype/node.hpp"
#include "datatype/walk.hpp"

namespace stria::datatype {

/// `list` says where the children are, or else a stride. Instances of a list follow `stride` apart.
struct Sequence {
  const Offsets* list = nullptr;
  std::int64_t entries = 0;  ///< of the list
  std::int64_t stride = 0;
  const Node* child = nullptr;     ///< null: the node has no equal children
  const Record* record = nullptr;  ///< of the child at these places, if it has one

  std::int64_t place(std::int64_t i) const noexcept {
    if (list == nullptr) return i * stride;
    return i / entries * stride + (*list)[static_cast<std::size_t>(i % entries)];
  }
  /// Children from i on whose places are in one list, or at one stride.
  std::int64_t together(std::int64_t i) const noexcept {
    return list == nullptr ? INT64_MAX : entries - i % entries;
  }
  /// The children are written out as few moves: a run is one.
  bool is_flat() const noexcept { return record != nullptr || child->block() != nullptr; }
  std::int64_t runs() const noexcept { return child->runs; }
  /// Of a flat one; `own` is where a run's only move is put.
  std::span<const Move> moves(Move& own) const noexcept {
    if (record != nullptr) return record->moves;
    own = {0, 0, child->size};
    return {&own, 1};
  }
  /// So many children of a flat one certainly do not overlap.
  std::int64_t disjoint_count() const noexcept {
    if (record != nullptr) return record->disjoint_count;
    const bool apart = list == nullptr && (stride >= child->size || stride <= -child->size);
    return apart ? INT64_MAX : 0;
  }
};

inline Sequence sequence_of(const Node& node) noexcept {
  if (const Strided* s = node.strided()) return {nullptr, 0, s->stride, s->child.get(), node.record.get()};
  if (const auto* x = std::get_if<Indexed>(&node.form))
    return {&x->displacements, static_cast<std::int64_t>(x->displacements.size()), 0, x->child.get(),
            node.record.get()};
  return {};
}
inline Sequence sequence_of(const Repeat& repeat) noexcept {
  return {nullptr, 0, repeat.stride, repeat.child, repeat.record};
}
inline Sequence instances_of(const Layout& layout) noexcept {
  return {nullptr, 0, layout.extent(), &layout.root(), layout.record()};
}
/// Of repeated lists: their children, list after list. No child if it is something else.
inline Sequence children_of_lists(const Repeat& repeat) noexcept {
  if (repeat.child->form.index() != 2) return {};
  Sequence all = sequence_of(*repeat.child);
  all.stride = repeat.stride;
  return all;
}

/// Where in a sequence at an address: which child is next, and how many bytes of it are done.
struct Place {
  const Sequence& sequence;
  Address memory;
  std::int64_t next;
  std::int64_t inside = 0;

  Address operator()() const noexcept { return moved(memory, sequence.place(next)); }
  /// Where the places of the list that holds the next child are counted from.
  Address list_base() const noexcept { return moved(memory, next / sequence.entries * sequence.stride); }
  template <class Int>
  const Int* list_at() const noexcept {
    return sequence.list->data<Int>() + next % sequence.entries;
  }
  void advance(std::int64_t bytes) noexcept {
    inside += bytes;
    const std::int64_t whole = elements_in(inside, *sequence.child);
    next += whole;
    inside -= whole * sequence.child->size;
  }
};

/// The next child of p opened, at p's byte of it.
inline Place inside_of(const Place& p, const Sequence& opened) noexcept {
  Place inner{opened, p(), 0};
  inner.advance(p.inside);
  return inner;
}

}  // namespace stria::datatype
