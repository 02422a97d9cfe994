// The tree that describes memory: five small forms, immutable, shared.
//
//   Block      bytes                         one run of bytes
//   Strided    count, stride, child          equal children at equal distances
//   Indexed    displacements, child          equal children at irregular places
//   Blocks     displacements, lengths        runs of different lengths at irregular places
//   Composite  (displacement, child)...      different children
//
// The first byte of a node in typemap order has offset 0; the node's displacement is kept by its parent or by
// the layout. So pieces of memory with one shape can share one node wherever they lie. Nodes are never empty,
// except that the root of a layout without bytes is Block{0}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "datatype/divisor.hpp"
#include "datatype/offsets.hpp"
#include "datatype/record.hpp"
#include "datatype/stretches.hpp"

namespace stria::datatype {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

struct Block {
  std::int64_t bytes = 0;
};
/// count >= 2; child i lies at i * stride bytes. The stride may be negative, zero, or less than the child's
/// size.
struct Strided {
  std::int64_t count = 0;
  std::int64_t stride = 0;
  NodePtr child;
};
/// At least 2 displacements in bytes, the first is 0. They are in typemap order, so they need not ascend.
struct Indexed {
  Offsets displacements;
  NodePtr child;
};
/// At least 2 runs. Run i lies at displacements[i] and holds bytes [starts[i], starts[i+1]) of the node's
/// packed stream.
struct Blocks {
  Blocks(std::vector<std::int64_t> places, std::vector<std::int64_t> prefix_sums)
      : Blocks(Offsets::pair(std::move(places), std::move(prefix_sums))) {}
  Blocks(std::vector<std::int32_t> places, std::vector<std::int32_t> prefix_sums)
      : Blocks(std::pair(Offsets(std::move(places)), Offsets(std::move(prefix_sums)))) {}
  Offsets displacements;
  Offsets starts;                  ///< prefix sums of the lengths; entries as wide as those of displacements
  std::vector<Stretch> stretches;  ///< derived from `starts`

 private:
  explicit Blocks(std::pair<Offsets, Offsets> lists)
      : displacements(std::move(lists.first)),
        starts(std::move(lists.second)),
        stretches(stretches_of(starts)) {}
};
/// At least 2 children. Child i lies at displacements[i] and holds bytes [starts[i], starts[i+1]) of the
/// node's packed stream.
struct Composite {
  std::vector<std::int64_t> displacements;
  std::vector<NodePtr> children;
  std::vector<std::int64_t> starts;
};

using Form = std::variant<Block, Strided, Indexed, Blocks, Composite>;

/// Most levels of a tree; it bounds every recursion over one. No canonical tree is deeper: a level of Strided
/// or Indexed at least doubles the size, and so does a Composite around a Composite (splice_lists). A
/// Composite around anything else may not double the size, but then the level below it is a block, a list of
/// blocks, or a level that doubles. From one byte to 63 bits are 62 doublings, so 2 * 62 + 2 levels.
inline constexpr int kMaxDepth = 128;

struct Node {
  Form form;
  // Derived from the form by make_node(); offsets are relative to the node's first byte in typemap order.
  std::int64_t size = 0;         ///< packed bytes
  std::int64_t true_lb = 0;      ///< lowest byte; <= 0
  std::int64_t true_ub = 0;      ///< one beyond the highest byte
  std::int64_t runs = 0;         ///< contiguous runs as the tree has them; touching ones count singly
  std::int64_t first_bytes = 0;  ///< length of the first run, which starts at 0
  std::int64_t last_at = 0;      ///< where the last run starts
  std::int64_t last_bytes = 0;   ///< length of the last run
  int depth = 1;
  int size_log2 = -1;  ///< -1: the size is no power of two
  std::size_t hash = 0;
  std::unique_ptr<const Record>
      record;  ///< how to copy the child of a Strided or Indexed as a record; null where that does not pay
  Divisor by_size;  ///< divides by the size where that is no power of two

  const Block* block() const noexcept { return std::get_if<Block>(&form); }
  const Strided* strided() const noexcept { return std::get_if<Strided>(&form); }
};

/// A node and where its first byte in typemap order lies.
struct Placed {
  std::int64_t displacement = 0;
  NodePtr node;
};

/// Makes a node from its form and derives the other members. Null when a derived value leaves 64 bits or the
/// tree would be deeper than kMaxDepth. The caller keeps the rules stated at each form, and has filled in a
/// Composite's `starts` by fill_starts(). `with_record` false: the node gets no record, which would take
/// memory, and its children are copied by walks alone.
NodePtr make_node(Form form, bool with_record = true);

/// Memory of a tree in bytes; a shared node counts once for each place where it stands.
std::size_t memory_of(const Node& node) noexcept;

/// Sets the prefix sums `starts` of a Composite whose children are set. False when a sum leaves 64 bits.
[[nodiscard]] bool fill_starts(Composite& composite);

/// Whether two trees have the same forms, recursively. O(1) for the same node or different hashes.
bool equal(const Node& a, const Node& b) noexcept;

/// The tree as text: "strided(512, 4096, block(8))". Long lists are shortened to their first few entries and
/// a count.
std::string to_string(const Node& node);

}  // namespace stria::datatype
