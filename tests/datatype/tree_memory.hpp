// Memory of a tree as its parts count it: what must stay small is bounded by it, on any machine.
#pragma once

#include <cstddef>
#include <set>

#include "datatype/node.hpp"

namespace stria::datatype {

/// Bytes of a node and all it holds; a shared node counts once.
inline std::size_t memory_of(const Node& node, std::set<const Node*>& seen) {
  if (!seen.insert(&node).second) return 0;
  std::size_t sum = sizeof(Node);
  if (node.record) sum += sizeof(Record) + node.record->moves.size() * sizeof(Move);
  if (const Strided* s = node.strided()) return sum + memory_of(*s->child, seen);
  if (const auto* x = std::get_if<Indexed>(&node.form))
    return sum + x->displacements.bytes() + memory_of(*x->child, seen);
  if (const auto* b = std::get_if<Blocks>(&node.form))
    return sum + b->displacements.bytes() + b->starts.bytes() + b->stretches.size() * sizeof(Stretch);
  if (const auto* c = std::get_if<Composite>(&node.form)) {
    sum += c->children.size() * (2 * sizeof(std::int64_t) + sizeof(NodePtr));
    for (const NodePtr& child : c->children) sum += memory_of(*child, seen);
  }
  return sum;
}
inline std::size_t memory_of(const Node& root) {
  std::set<const Node*> seen;
  return memory_of(root, seen);
}

}  // namespace stria::datatype
