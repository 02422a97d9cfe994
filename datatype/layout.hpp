// Layout: an immutable description of (non-)contiguous memory relative to a base address, cheap to copy.
//
// A layout is memory plus spacing. The memory is a canonical tree (node.hpp) at an origin: the bytes of one
// instance, in typemap order. The spacing is lower bound and extent, which say only where the next instance
// lies; they are kept beside the tree. operator== compares memory and spacing: equal layouts give equal bytes
// for every count. same_memory() compares the memory of one instance only.
//
// Canonical: two layouts of the same bytes in the same order have the same tree, whichever constructors made
// them, if they have at most kExpandRuns maximal runs or are regular nests (vectors, subarrays) of any size.
// Larger irregular memory described by two different nestings may have two different trees; both are right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "datatype/facts.hpp"
#include "datatype/node.hpp"

namespace stria::datatype {

/// The bytes that a number of instances touch, relative to the base address, and their packed size.
struct Reach {
  std::int64_t low = 0;    ///< lowest byte touched
  std::int64_t high = 0;   ///< one beyond the highest byte touched; low == high when nothing is touched
  std::int64_t bytes = 0;  ///< length of the packed stream
};

/// A layout that one loop copies: equal blocks of 2^bytes_log2 bytes, `stride` apart. Most messages are lines
/// or contiguous, and in a small message each step on the way to the loop costs noticeable time, so the line
/// is found when the layout is made.
struct Line {
  std::int64_t stride = 0;
  std::int64_t bytes = 0;  ///< of a block
  int bytes_log2 = -1;     ///< -1: the layout is no line
  bool joins = false;      ///< the blocks of the next instance go on at the same stride
};

/// Threads: a layout never changes, so any number of threads may read it; copying counts references
/// atomically. The static functions that make layouts allocate and may throw std::bad_alloc; everything else
/// is noexcept or setup-only (to_string).
/// Counts must be >= 0; displacements, strides and bounds are signed bytes. An error names the offending
/// value.
class Layout {
 public:
  /// A layout of no bytes, with extent 0.
  Layout();

  /// n contiguous bytes, with extent n. A negative n aborts: check user input first.
  static Layout bytes(std::int64_t n);
  /// `count` children, each child.extent() bytes after the one before.
  static Result<Layout> contiguous(std::int64_t count, const Layout& child);
  /// `count` children, each stride_bytes after the one before (MPI's hvector with block length 1).
  static Result<Layout> strided(std::int64_t count, std::int64_t stride_bytes, const Layout& child);
  /// `count` blocks of `blocklen` children, the blocks stride_bytes apart (MPI's hvector).
  static Result<Layout> vector(std::int64_t count, std::int64_t blocklen, std::int64_t stride_bytes,
                               const Layout& child);
  /// Block i is blocklens[i] children at displacements_bytes[i] (MPI's hindexed). The spans have one length.
  static Result<Layout> indexed(std::span<const std::int64_t> blocklens,
                                std::span<const std::int64_t> displacements_bytes, const Layout& child);
  /// Block i is `blocklen` children at displacements_bytes[i] (MPI's hindexed_block).
  static Result<Layout> indexed_block(std::int64_t blocklen,
                                      std::span<const std::int64_t> displacements_bytes, const Layout& child);
  /// Block i is counts[i] of children[i] at displacements_bytes[i] (MPI's struct). The spans have one length.
  /// No padding is added at the end, as a compiler would: a caller that knows the alignment uses resized().
  static Result<Layout> composite(std::span<const std::int64_t> counts,
                                  std::span<const std::int64_t> displacements_bytes,
                                  std::span<const Layout> children);
  /// The memory of `child` with another lower bound and extent; both may be negative. As in MPI, such
  /// explicit bounds are markers: a layout built from children with markers derives its bounds from the
  /// markers alone.
  static Result<Layout> resized(const Layout& child, std::int64_t lb, std::int64_t extent);

  std::int64_t size() const noexcept { return rep_->root->size; }  ///< packed bytes of one instance
  std::int64_t lb() const noexcept { return rep_->lb; }
  std::int64_t extent() const noexcept { return rep_->extent; }
  std::int64_t ub() const noexcept { return rep_->lb + rep_->extent; }
  /// Lowest byte of one instance and one beyond its highest; 0 and 0 when it has none.
  std::int64_t true_lb() const noexcept { return rep_->origin + rep_->root->true_lb; }
  std::int64_t true_ub() const noexcept { return rep_->origin + rep_->root->true_ub; }
  std::int64_t true_extent() const noexcept { return true_ub() - true_lb(); }

  /// One instance is one run of bytes, in order, starting at true_lb(). Also true for no bytes.
  bool is_contiguous() const noexcept { return rep_->root->block() != nullptr; }
  /// `count` instances together are one run of bytes, in order. Also true for a layout of no bytes.
  bool is_contiguous(std::int64_t count) const noexcept {
    return is_contiguous() && (count <= 1 || size() == 0 || extent() == size());
  }
  const Line& line() const noexcept { return rep_->line; }
  const Facts& facts() const noexcept { return rep_->facts; }
  /// Number of contiguous runs of one instance as the tree has them, for cost models. 0 for no bytes.
  std::int64_t block_count() const noexcept { return rep_->root->runs; }
  /// The bytes that `count` instances touch; empty when their bounds or size leave 64 bits or count < 0. Call
  /// reach() before using a count or a layout that came from outside: the data-path functions assume that it
  /// has a value. (Whether the base address plus low and high overflows is for the caller to check.)
  std::optional<Reach> reach(std::int64_t count) const noexcept;

  /// Where the first byte in typemap order lies, relative to the base address; root() is placed there.
  std::int64_t origin() const noexcept { return rep_->origin; }
  const Node& root() const noexcept { return *rep_->root; }
  const NodePtr& share_root() const noexcept { return rep_->root; }
  /// How instances, one extent apart, are copied as records; null where they are not copied so.
  const Record* record() const noexcept { return rep_->record.get(); }
  /// Whether lb and extent come from resized(), of this layout or of a part of it.
  bool has_explicit_bounds() const noexcept { return rep_->explicit_bounds; }

  std::string to_string() const;
  friend bool operator==(const Layout& a, const Layout& b) noexcept;
  /// Equal layouts have equal hashes.
  std::size_t hash() const noexcept;

  /// A layout from its parts, for the descriptor decoder. `root` comes from make_node(); null is an error.
  /// Also an error when a bound leaves 64 bits.
  static Result<Layout> from_parts(std::int64_t origin, NodePtr root, std::int64_t lb, std::int64_t extent,
                                   bool explicit_bounds);

 private:
  struct Rep {
    NodePtr root;
    std::int64_t origin = 0;
    std::int64_t lb = 0;
    std::int64_t extent = 0;
    bool explicit_bounds = false;
    std::unique_ptr<const Record> record;
    Line line;
    Facts facts;
  };
  explicit Layout(std::shared_ptr<const Rep> rep) noexcept : rep_(std::move(rep)) {}

  std::shared_ptr<const Rep> rep_;  // never null, except in a moved-from layout
};

/// Whether one instance of a and one of b are the same bytes in the same order, whatever their bounds.
bool same_memory(const Layout& a, const Layout& b) noexcept;

}  // namespace stria::datatype

template <>
struct std::hash<stria::datatype::Layout> {
  std::size_t operator()(const stria::datatype::Layout& layout) const noexcept { return layout.hash(); }
};
