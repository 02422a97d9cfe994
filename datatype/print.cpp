// Trees and layouts as text for people.
#include <type_traits>

#include "datatype/layout.hpp"
#include "datatype/node.hpp"

namespace stria::datatype {
namespace {

constexpr std::size_t kShown = 6;  // entries of a list that are printed

std::string text(std::int64_t v) {
  return std::to_string(v);
}

/// "[a, b, c]" from the texts entry(i); of a longer list the first kShown entries and "... n in all".
template <class Entry>
std::string list(std::size_t n, Entry entry) {
  std::string out = "[";
  for (std::size_t i = 0; i < n && i < kShown; ++i) {
    if (i > 0) out += ", ";
    out += entry(i);
  }
  if (n > kShown) out += ", ... " + std::to_string(n) + " in all";
  return out + "]";
}

std::string print(const Block& block) {
  return "block(" + text(block.bytes) + ")";
}

std::string print(const Strided& s) {
  return "strided(" + text(s.count) + ", " + text(s.stride) + ", " + to_string(*s.child) + ")";
}

std::string print(const Indexed& x) {
  return "indexed(" + list(x.displacements.size(), [&](std::size_t i) { return text(x.displacements[i]); }) +
         ", " + to_string(*x.child) + ")";
}

std::string print(const Blocks& b) {
  return "blocks(" +
         list(b.displacements.size(),
              [&](std::size_t i) {
                return text(b.starts[i + 1] - b.starts[i]) + " at " + text(b.displacements[i]);
              }) +
         ")";
}

std::string print(const Composite& c) {
  return "composite(" +
         list(c.children.size(),
              [&](std::size_t i) { return to_string(*c.children[i]) + " at " + text(c.displacements[i]); }) +
         ")";
}

}  // namespace

std::string to_string(const Node& node) {
  return std::visit([](const auto& form) { return print(form); }, node.form);
}

std::string Layout::to_string() const {
  std::string out = stria::datatype::to_string(root());
  if (origin() != 0) out += " at " + text(origin());
  return out + ", lb " + text(lb()) + ", extent " + text(extent());
}

}  // namespace stria::datatype
