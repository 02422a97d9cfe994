// Sequence: equal children one after the other, at one stride or at the places of a list. A transfer walks
// down two trees at once, and sees a level of equal children in either tree as a Sequence.
#pragma once

#include <cstdint>
#include <span>

#include "datatype/address.hpp"
#include "datatype/node.hpp"
#include "datatype/walk.hpp"

namespace stria::datatype {

/// The children are at the places of `list`, which is repeated `stride` apart; if `list` is null, they are
/// `stride` apart themselves.
struct Sequence {
  const Offsets* list = nullptr;
  std::int64_t entries = 0;  ///< of the list
  std::int64_t stride = 0;
  const Node* child = nullptr;     ///< null: the node has no equal children
  const Record* record = nullptr;  ///< how to copy the children as records; null: they are no records
  const Node* listed = nullptr;    ///< the node that has the list

  /// The repetition of the list that has child i, and the entry of the list there; `list` is not null.
  std::int64_t repetition(std::int64_t i) const noexcept { return elements_in(i * child->size, *listed); }
  std::int64_t entry(std::int64_t i) const noexcept { return i - repetition(i) * entries; }
  std::int64_t place(std::int64_t i) const noexcept {
    if (list == nullptr) return i * stride;
    return repetition(i) * stride + (*list)[static_cast<std::size_t>(entry(i))];
  }
  /// How many children from child i on lie at one stride, or at places of the same repetition of the list.
  std::int64_t together(std::int64_t i) const noexcept {
    return list == nullptr ? INT64_MAX : entries - entry(i);
  }
  /// Whether each child is a run, or a record, which is a short list of moves.
  bool is_flat() const noexcept { return record != nullptr || child->block() != nullptr; }
  std::int64_t runs() const noexcept { return child->runs; }
  /// The moves of one child; is_flat() holds. The only move of a run is stored in `own`, and the result
  /// refers to it.
  std::span<const Move> moves(Move& own) const noexcept {
    if (record != nullptr) return record->moves;
    own = {0, 0, child->size};
    return {&own, 1};
  }
  /// Number of successive children that certainly do not overlap; is_flat() holds.
  std::int64_t disjoint_count() const noexcept {
    if (record != nullptr) return record->disjoint_count;
    const bool apart = list == nullptr && (stride >= child->size || stride <= -child->size);
    return apart ? INT64_MAX : 0;
  }
};

inline Sequence sequence_of(const Node& node) noexcept {
  if (const Strided* s = node.strided()) return {nullptr, 0, s->stride, s->child.get(), node.record.get()};
  if (const auto* x = std::get_if<Indexed>(&node.form))
    return {&x->displacements,
            static_cast<std::int64_t>(x->displacements.size()),
            0,
            x->child.get(),
            node.record.get(),
            &node};
  return {};
}
inline Sequence sequence_of(const Repeat& repeat) noexcept {
  return {nullptr, 0, repeat.stride, repeat.child, repeat.record};
}
inline Sequence instances_of(const Layout& layout) noexcept {
  return {nullptr, 0, layout.extent(), &layout.root(), layout.record()};
}
/// The children of all lists, list after list, where the repeated child is a list (Indexed); otherwise a
/// sequence without child.
inline Sequence children_of_lists(const Repeat& repeat) noexcept {
  if (repeat.child->form.index() != 2) return {};
  Sequence all = sequence_of(*repeat.child);
  all.stride = repeat.stride;
  return all;
}

/// A position in the packed stream of a sequence that lies at an address.
struct Place {
  const Sequence& sequence;
  Address memory;           ///< what sequence.place() is relative to
  std::int64_t next;        ///< index of the next child
  std::int64_t inside = 0;  ///< bytes of the next child that are done

  /// Address of the next child.
  Address operator()() const noexcept { return moved(memory, sequence.place(next)); }
  /// Address that the places of the list with the next child are relative to.
  Address list_base() const noexcept { return moved(memory, sequence.repetition(next) * sequence.stride); }
  template <class Int>
  const Int* list_at() const noexcept {
    return sequence.list->data<Int>() + sequence.entry(next);
  }
  void advance(std::int64_t bytes) noexcept {
    inside += bytes;
    const std::int64_t whole = elements_in(inside, *sequence.child);
    next += whole;
    inside -= whole * sequence.child->size;
  }
};

/// The position of `p` as a position in the children of its next child: `opened` is that child as a sequence.
inline Place inside_of(const Place& p, const Sequence& opened) noexcept {
  Place inner{opened, p(), 0};
  inner.advance(p.inside);
  return inner;
}

}  // namespace stria::datatype
