// The tree that describes memory: five small forms, immutable, shared.
//
//   Block      bytes                         one run of bytes
//   Strided    count, stride, child          equal children at equal distances
//   Indexed    displacements, child          equal children at irregular places
//   Blocks     displacements, lengths        runs of different lengths at irregular places
//   Composite  (displacement, child)...      different children
//
// Every node is placed so that its first byte in typemap order has offset 0; whoever holds the node holds its
// displacement. So two pieces of memory with the same shape share one node wherever they lie. Nodes are never
// empty: no memory at all is Block{0}, which only stands as a root.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "datatype/offsets.hpp"
#include "datatype/record.hpp"
#include "datatype/stretches.hpp"

namespace stria::datatype {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

struct Block {
  std::int64_t bytes = 0;
};
/// count >= 2; child i lies at i * stride bytes, which may be negative, zero, or less than the child's size.
struct Strided {
  std::int64_t count = 0;
  std::int64_t stride = 0;
  NodePtr child;
};
/// At least 2 displacements, the first is 0; in typemap order, not sorted.
struct Indexed {
  Offsets displacements;
  NodePtr child;
};
/// At least 2 runs; run i lies at displacements[i] and holds bytes [starts[i], starts[i+1]) of the packed
/// stream.
struct Blocks {
  Blocks(std::vector<std::int64_t> places, std::vector<std::int64_t> prefix_sums)
      : Blocks(Offsets::pair(std::move(places), std::move(prefix_sums))) {}
  Blocks(std::vector<std::int32_t> places, std::vector<std::int32_t> prefix_sums)
      : Blocks(std::pair(Offsets(std::move(places)), Offsets(std::move(prefix_sums)))) {}
  Offsets displacements;
  Offsets starts;                  ///< as wide as the displacements
  std::vector<Stretch> stretches;  ///< of `starts`

 private:
  explicit Blocks(std::pair<Offsets, Offsets> lists)
      : displacements(std::move(lists.first)),
        starts(std::move(lists.second)),
        stretches(stretches_of(starts)) {}
};
/// At least 2 children; child i holds bytes [starts[i], starts[i+1]) of the packed stream.
struct Composite {
  std::vector<std::int64_t> displacements;
  std::vector<NodePtr> children;
  std::vector<std::int64_t> starts;
};

using Form = std::variant<Block, Strided, Indexed, Blocks, Composite>;

/// No canonical tree is deeper: a level of Strided or Indexed at least doubles the size, and so does a
/// Composite around a Composite (splice_lists). A Composite around anything else may not, but then a block, a
/// list of blocks, or a level that doubles comes next. From one byte to 63 bits are 62 doublings, so 2 * 62 +
/// 2 levels. Recursion over a tree is bounded by it.
inline constexpr int kMaxDepth = 128;

struct Node {
  Form form;
  // Derived from the form by make_node():
  std::int64_t size = 0;         ///< packed bytes
  std::int64_t true_lb = 0;      ///< lowest byte, relative to the node's first byte in typemap order; <= 0
  std::int64_t true_ub = 0;      ///< one beyond the highest byte
  std::int64_t runs = 0;         ///< contiguous runs, counted in the tree
  std::int64_t first_bytes = 0;  ///< length of the first run (it starts at 0)
  std::int64_t last_at = 0;      ///< where the last run starts
  std::int64_t last_bytes = 0;   ///< length of the last run
  int depth = 1;
  int size_log2 = -1;  ///< -1: the size is no power of two
  std::size_t hash = 0;
  std::unique_ptr<const Record>
      record;  ///< of a Strided's or Indexed's child, where copying by it pays; else null

  const Block* block() const noexcept { return std::get_if<Block>(&form); }
  const Strided* strided() const noexcept { return std::get_if<Strided>(&form); }
};

/// A shape at a place.
struct Placed {
  std::int64_t displacement = 0;
  NodePtr node;
};

/// Completes a node from its form. Null when a derived value leaves 64 bits or the tree would be deeper than
/// kMaxDepth; the form's own rules (above) are the caller's to keep. Composite comes with `starts` filled
/// in by fill_starts(). `with_record` false: copied by walks alone, which take no memory.
NodePtr make_node(Form form, bool with_record = true);

/// What a tree takes, in bytes; a shared node counts wherever it stands.
std::size_t memory_of(const Node& node) noexcept;

/// Prefix sums for a Composite whose displacements and children are set; false on overflow of 64 bits.
[[nodiscard]] bool fill_starts(Composite& composite);

/// Same form, recursively. O(1) for the same node or different hashes.
bool equal(const Node& a, const Node& b) noexcept;

/// "strided(512, 4096, block(8))"; long lists are shortened to their first few entries and a count.
std::string to_string(const Node& node);

}  // namespace stria::datatype
