#include "datatype/describe.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "datatype/descriptor.hpp"
#include "datatype/kernels/kernels.hpp"
#include "datatype/kernels/strided.hpp"
#include "datatype/walk.hpp"

namespace stria::datatype {
namespace {

std::string blocks_of(std::int64_t bytes) {
  return "blocks of " + std::to_string(bytes) + " bytes";
}

std::string by_record(const Record& record, bool listed) {
  if (!listed && record.permutation.records > 0 && kernels().permute[kPacking] != nullptr)
    return "byte permutation, " + std::to_string(record.permutation.records) + " elements a vector";
  return "one loop a run over stretches of elements of " + std::to_string(record.moves.size()) + " runs";
}

std::string by_nest(const Strided& outer, const Strided& inner, std::int64_t bytes) {
  const kernel::Nest nest{0,     outer.stride, inner.stride, 0,    inner.count * bytes,
                          bytes, outer.count,  inner.count,  bytes};
  switch (kernel::order_of(nest)) {
    case kernel::Order::rows:
      return "two loops over " + blocks_of(bytes);
    case kernel::Order::swapped:
      return "two loops over " + blocks_of(bytes) + ", swapped";
    default:
      return "squares of " + blocks_of(bytes) + ", turned";
  }
}

std::string by_strided(const Strided& s, const Record* record) {
  if (record != nullptr) return by_record(*record, false);
  if (const Block* block = s.child->block()) {
    const bool paced =
        block->bytes <= kernel::kLine && kernel::fillers_for(s.stride, s.count, true, processor().pacing) > 0;
    return "loop over " + blocks_of(block->bytes) + (paced ? ", paced" : "");
  }
  if (const Strided* inner = s.child->strided()) {
    if (const Block* block = inner->child->block()) return by_nest(s, *inner, block->bytes);
  }
  return "";
}

/// The topmost node that one copy function handles: `node`, or a node below levels that are walked.
const Node& copied(const Node& node) {
  if (const Strided* s = node.strided())
    return by_strided(*s, node.record.get()).empty() ? copied(*s->child) : node;
  if (const auto* x = std::get_if<Indexed>(&node.form))
    return node.record != nullptr || x->child->block() != nullptr ? node : copied(*x->child);
  return node;
}

/// The innermost copies of a node as text; levels without a copy function of their own are walked.
std::string by_node(const Node& node) {
  if (const Strided* s = node.strided()) {
    const std::string own = by_strided(*s, node.record.get());
    return own.empty() ? "walk of " + std::to_string(s->count) + " elements, each " + by_node(*s->child)
                       : own;
  }
  if (const auto* x = std::get_if<Indexed>(&node.form)) {
    if (node.record != nullptr) return "list: " + by_record(*node.record, true);
    if (const Block* block = x->child->block()) return "list of " + blocks_of(block->bytes);
    return "walk of a list, each " + by_node(*x->child);
  }
  if (const auto* b = std::get_if<Blocks>(&node.form)) {
    const auto equal =
        std::count_if(b->stretches.begin(), b->stretches.end(), [](const Stretch& s) { return s.equal; });
    if (equal > 0) return "list of blocks, " + std::to_string(equal) + " stretches of one length";
    return "list of blocks of any length";
  }
  if (const auto* c = std::get_if<Composite>(&node.form))
    return "part by part, " + std::to_string(c->children.size()) + " parts";
  return "one copy";
}

using Lines = std::vector<std::string>;

/// The lines of kernels_of_parts() for a node, at most `levels` levels of composites deep.
Lines parts_of(const Node& node, int levels) {
  const auto* composite = std::get_if<Composite>(&copied(node).form);
  if (composite == nullptr || levels == 0) return {};
  struct Kind {
    Lines lines;  // the kernel of the parts of this kind, then the lines of their own parts
    std::int64_t parts = 0;
  };
  std::vector<Kind> kinds;
  std::map<const Node*, std::size_t> known;  // index of the kind; most equal parts share one node
  std::map<Lines, std::size_t> by_lines;
  for (const NodePtr& child : composite->children) {
    const auto [at, is_new] = known.try_emplace(child.get(), 0);
    if (is_new) {
      Lines lines{by_node(*child)};
      for (std::string& line : parts_of(*child, levels - 1)) lines.push_back("  " + std::move(line));
      at->second = by_lines.try_emplace(lines, kinds.size()).first->second;
      if (at->second == kinds.size()) kinds.push_back({std::move(lines), 0});
    }
    ++kinds[at->second].parts;
  }
  Lines out;
  std::int64_t rest = 0;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (i >= kShownKinds) {
      rest += kinds[i].parts;
      continue;
    }
    const std::int64_t parts = kinds[i].parts;
    out.push_back(std::to_string(parts) + (parts == 1 ? " part: " : " parts: ") + kinds[i].lines.front());
    out.insert(out.end(), kinds[i].lines.begin() + 1, kinds[i].lines.end());
  }
  if (rest > 0)
    out.push_back(std::to_string(rest) + (rest == 1 ? " part" : " parts") + " of " +
                  std::to_string(kinds.size() - kShownKinds) + " more kinds");
  return out;
}

}  // namespace

std::string kernel_of(const Layout& layout) {
  return by_node(layout.root()) + " (" + kernels().name + ")";
}

std::vector<std::string> kernels_of_parts(const Layout& layout) {
  constexpr int kLevels = 2;
  return parts_of(layout.root(), kLevels);
}

std::string describe(const Layout& layout) {
  const std::int64_t blocks = layout.block_count();
  std::string out = layout.to_string() + "\n";
  out += "size: " + std::to_string(layout.size()) + " bytes in " + std::to_string(blocks) +
         (blocks == 1 ? " block" : " blocks") + "\n";
  out += "true extent: " + std::to_string(layout.true_extent()) + ", lower bound " +
         std::to_string(layout.true_lb()) + "\n";
  out += "kernel: " + kernel_of(layout) + "\n";
  for (const std::string& line : kernels_of_parts(layout)) out += "  " + line + "\n";
  out += "wire descriptor: " + std::to_string(encode(layout).size()) + " bytes\n";
  return out;
}

}  // namespace stria::datatype
