// The constructors: each checks its input once, derives the bounds, and hands the memory to the
// canonicaliser.
#include "datatype/layout.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "datatype/block_list.hpp"
#include "datatype/canonical.hpp"
#include "datatype/checked.hpp"

namespace stria::datatype {
namespace {

Error refuse(std::string what) {
  return Error{Status::invalid, "layout: " + std::move(what)};
}

NodePtr block_node(std::int64_t bytes) {
  return make_node(Block{bytes});
}

Line line_of(const Node& root, std::int64_t extent, const Record* record) {
  Line line;
  const Strided* s = root.strided();
  const Block* block = s != nullptr ? s->child->block() : root.block();
  if (block == nullptr || (s != nullptr ? root.record.get() : record) != nullptr) return line;
  const auto bytes = static_cast<std::uint64_t>(block->bytes);
  const bool one_run = s == nullptr && extent == block->bytes;  // of any count of instances
  if (one_run || !std::has_single_bit(bytes)) return line;
  const Checked covered = s != nullptr ? Checked(s->count) * s->stride : Checked(extent);
  line.stride = s != nullptr ? s->stride : extent;
  line.bytes = block->bytes;
  line.bytes_log2 = std::countr_zero(bytes);
  line.joins = covered.ok() && covered.value() == extent;
  return line;
}

/// Lower and upper bound of a typemap under construction. Entries without bytes and without markers say
/// nothing; once a marker was seen only markers count (MPI-4.1, 5.1.6 and 5.1.7).
class Bounds {
 public:
  void add(Checked lb, Checked ub, bool is_explicit) noexcept {
    if (explicit_ && !is_explicit) return;
    if (!any_ || (is_explicit && !explicit_)) {
      lb_ = lb;
      ub_ = ub;
    } else {
      lb_ = lesser(lb_, lb);
      ub_ = greater(ub_, ub);
    }
    any_ = true;
    explicit_ = is_explicit;
  }
  /// `count` copies of `child`, `step` bytes apart, the first at `at`.
  void add_copies(const Layout& child, Checked at, std::int64_t count, std::int64_t step) noexcept {
    if (count == 0 || (child.size() == 0 && !child.has_explicit_bounds())) return;
    const Checked last = Checked(count - 1) * step;
    add(at + lesser(0, last) + child.lb(), at + greater(0, last) + child.ub(), child.has_explicit_bounds());
  }
  Checked lb() const noexcept { return lb_; }
  Checked extent() const noexcept { return ub_ - lb_; }
  bool is_explicit() const noexcept { return explicit_; }

 private:
  Checked lb_ = 0, ub_ = 0;
  bool any_ = false;
  bool explicit_ = false;
};

Result<Layout> finish(std::int64_t origin, NodePtr root, const Bounds& bounds) {
  if (!bounds.lb().ok() || !bounds.extent().ok()) return refuse("the bounds leave 64 bits");
  return Layout::from_parts(origin, std::move(root), bounds.lb().value(), bounds.extent().value(),
                            bounds.is_explicit());
}

/// The layout of `count` copies of `child`, `stride` bytes apart: the body of contiguous() and strided().
Result<Layout> copies(std::int64_t count, std::int64_t stride, const Layout& child) {
  if (count < 0) return refuse("count " + std::to_string(count) + " < 0");
  Bounds bounds;
  bounds.add_copies(child, 0, count, stride);
  if (count == 0 || child.size() == 0) return finish(0, block_node(0), bounds);
  const Node& node = child.root();
  const Checked last = Checked(count - 1) * stride;
  const Checked low = lesser(0, last) + child.true_lb();
  const Checked high = greater(0, last) + child.true_ub();
  if (!(Checked(count) * node.size).ok() || !last.ok() || !(high - low).ok())
    return refuse("count " + std::to_string(count) + " x (size " + std::to_string(node.size) + ", stride " +
                  std::to_string(stride) + ") leaves 64 bits");
  return finish(child.origin(), canonical_strided(count, stride, child.share_root()), bounds);
}

/// Collects the entries of indexed() and composite(): pieces in typemap order, bounds, checked totals.
class Collector {
 public:
  explicit Collector(std::size_t entries) { pieces_.reserve(entries); }

  /// `count` > 0 copies of `child`, extent apart, at `displacement`. False when a value leaves 64 bits.
  bool add(std::int64_t count, std::int64_t displacement, const Layout& child) {
    bounds_.add_copies(child, displacement, count, child.extent());
    if (child.size() == 0) return true;
    if (child.is_contiguous(count)) {
      const Checked bytes = Checked(count) * child.size();
      return bytes.ok() && add_piece(Checked(displacement) + child.origin(), {0, bytes.value(), nullptr});
    }
    const NodePtr block = repeated(count, child);
    if (block == nullptr) return false;
    return add_piece(Checked(displacement) + child.origin(), make_piece(0, block));
  }

  Result<Layout> finish_sequence() && {
    if (pieces_.empty()) return finish(0, block_node(0), bounds_);
    if (!(high_ - low_).ok()) return refuse("the displacements span more than 63 bits");
    Placed placed = canonical_sequence(std::move(pieces_));
    return finish(placed.displacement, std::move(placed.node), bounds_);
  }

 private:
  bool add_piece(Checked at, Piece piece) {
    const Checked low = at + (piece.node ? piece.node->true_lb : 0);
    const Checked high = at + (piece.node ? piece.node->true_ub : piece.bytes);
    size_ = size_ + piece.bytes;
    low_ = pieces_.empty() ? low : lesser(low_, low);
    high_ = pieces_.empty() ? high : greater(high_, high);
    if (!size_.ok() || !low_.ok() || !high_.ok()) return false;
    piece.displacement = at.value();
    pieces_.push_back(std::move(piece));
    return true;
  }

  /// The tree of contiguous(count, child). It is made once for all entries with this count and child: most
  /// lists have few different lengths, and a struct may alternate between a few kinds of entries.
  NodePtr repeated(std::int64_t count, const Layout& child) {
    if (count == 1) return child.share_root();
    NodePtr& made = made_[{&child.root(), child.extent(), count}];
    if (made == nullptr) {
      if (const Result<Layout> block = Layout::contiguous(count, child)) made = block->share_root();
    }
    return made;
  }

  Pieces pieces_;
  Bounds bounds_;
  Checked size_ = 0, low_ = 0, high_ = 0;
  /// By root, extent and count; the children outlive the collector.
  std::map<std::tuple<const Node*, std::int64_t, std::int64_t>, NodePtr> made_;
};

/// From so many entries on, a list is tried as a BlockList first.
constexpr std::size_t kLeastList = 4;

/// The tree of a list by BlockList<Int>, or empty. `origin` is the place of the first block with bytes.
template <class Int, class CountOf>
std::optional<Placed> fill_blocks(std::span<const std::int64_t> displacements, CountOf count_of,
                                  const Layout& child, std::int64_t origin) {
  const std::int64_t shift = child.true_lb(), each = child.size();
  BlockList<Int> list(displacements.size(), origin, [&](std::size_t i) {
    const std::int64_t count = count_of(i);  // an entry without blocks may stand anywhere
    return count > 0 ? std::pair(displacements[i] + shift, count * each) : std::pair(origin, std::int64_t{0});
  });
  return list.size() < kLeastList ? std::nullopt : std::move(list).irregular();
}

/// The layout of many blocks of one contiguous child, by BlockList. Empty when collect() must make it: the
/// merged list is too short or regular, or an entry is wrong or leaves 64 bits (collect() finds it).
template <class CountOf>
std::optional<Result<Layout>> collect_blocks(std::span<const std::int64_t> displacements, CountOf count_of,
                                             const Layout& child) {
  const std::int64_t each = child.size();
  if (displacements.size() < kLeastList || each == 0 || !child.is_contiguous(2)) return std::nullopt;
  std::int64_t low = INT64_MAX, high = INT64_MIN, last = INT64_MIN, size = 0, span = 0, origin = 0;
  bool wrong = false;
  for (std::size_t i = 0; i < displacements.size(); ++i) {
    const std::int64_t count = count_of(i);
    if (count <= 0) {
      wrong |= count < 0;
      continue;
    }
    std::int64_t bytes = 0, begin = 0, end = 0;
    wrong |= __builtin_mul_overflow(count, each, &bytes);
    wrong |= __builtin_add_overflow(displacements[i], child.true_lb(), &begin);
    wrong |= __builtin_add_overflow(begin, bytes, &end);
    if (size == 0) origin = begin;
    wrong |= __builtin_add_overflow(size, bytes, &size);
    if (wrong) return std::nullopt;
    low = std::min(low, begin);
    last = std::max(last, begin);
    high = std::max(high, end);
  }
  if (wrong || size == 0 || __builtin_sub_overflow(high, low, &span)) return std::nullopt;
  const bool narrow = low - origin >= INT32_MIN && last - origin <= INT32_MAX && size <= INT32_MAX;
  std::optional<Placed> placed = narrow ? fill_blocks<std::int32_t>(displacements, count_of, child, origin)
                                        : fill_blocks<std::int64_t>(displacements, count_of, child, origin);
  if (!placed) return std::nullopt;
  // The bounds of the lowest and the highest block. The child's extent is its size, so they differ from the
  // true bounds by one shift.
  Bounds bounds;
  const Checked shift = Checked(child.lb()) - child.true_lb();
  bounds.add(shift + low, shift + high, child.has_explicit_bounds());
  return finish(placed->displacement, std::move(placed->node), bounds);
}

/// The common body of the list constructors; `count_of` and `child_of` give the parts of entry i.
template <class CountOf, class ChildOf>
Result<Layout> collect(std::span<const std::int64_t> displacements, CountOf count_of, ChildOf child_of) {
  Collector collector(displacements.size());
  for (std::size_t i = 0; i < displacements.size(); ++i) {
    const std::int64_t count = count_of(i);
    if (count < 0)
      return refuse("block length " + std::to_string(count) + " < 0 in entry " + std::to_string(i));
    if (count == 0) continue;
    if (!collector.add(count, displacements[i], child_of(i)))
      return refuse("entry " + std::to_string(i) + " (block length " + std::to_string(count) +
                    ", displacement " + std::to_string(displacements[i]) + ") leaves 64 bits");
  }
  return std::move(collector).finish_sequence();
}

}  // namespace

Layout::Layout() : Layout(bytes(0)) {}

Layout Layout::bytes(std::int64_t n) {
  STRIA_CHECK(n >= 0, "a layout has at least 0 bytes");
  NodePtr root = block_node(n);
  const Facts facts = facts_of(*root, n);
  return Layout(std::make_shared<const Rep>(Rep{std::move(root), 0, 0, n, false, nullptr, {}, facts}));
}

Result<Layout> Layout::contiguous(std::int64_t count, const Layout& child) {
  return copies(count, child.extent(), child);
}

Result<Layout> Layout::strided(std::int64_t count, std::int64_t stride_bytes, const Layout& child) {
  return copies(count, stride_bytes, child);
}

Result<Layout> Layout::vector(std::int64_t count, std::int64_t blocklen, std::int64_t stride_bytes,
                              const Layout& child) {
  Result<Layout> block = contiguous(blocklen, child);
  if (!block) return block;
  return strided(count, stride_bytes, *block);
}

Result<Layout> Layout::indexed(std::span<const std::int64_t> blocklens,
                               std::span<const std::int64_t> displacements_bytes, const Layout& child) {
  if (blocklens.size() != displacements_bytes.size())
    return refuse(std::to_string(blocklens.size()) + " block lengths for " +
                  std::to_string(displacements_bytes.size()) + " displacements");
  const auto length_of = [&](std::size_t i) { return blocklens[i]; };
  if (auto made = collect_blocks(displacements_bytes, length_of, child)) return *std::move(made);
  return collect(displacements_bytes, length_of, [&](std::size_t) -> const Layout& { return child; });
}

Result<Layout> Layout::indexed_block(std::int64_t blocklen, std::span<const std::int64_t> displacements_bytes,
                                     const Layout& child) {
  const auto length_of = [&](std::size_t) { return blocklen; };
  if (auto made = collect_blocks(displacements_bytes, length_of, child)) return *std::move(made);
  return collect(displacements_bytes, length_of, [&](std::size_t) -> const Layout& { return child; });
}

Result<Layout> Layout::composite(std::span<const std::int64_t> counts,
                                 std::span<const std::int64_t> displacements_bytes,
                                 std::span<const Layout> children) {
  if (counts.size() != displacements_bytes.size() || counts.size() != children.size())
    return refuse(std::to_string(counts.size()) + " counts, " + std::to_string(displacements_bytes.size()) +
                  " displacements, " + std::to_string(children.size()) + " children");
  return collect(
      displacements_bytes, [&](std::size_t i) { return counts[i]; },
      [&](std::size_t i) -> const Layout& { return children[i]; });
}

Result<Layout> Layout::resized(const Layout& child, std::int64_t lb, std::int64_t extent) {
  return from_parts(child.origin(), child.share_root(), lb, extent, true);
}

Result<Layout> Layout::from_parts(std::int64_t origin, NodePtr root, std::int64_t lb, std::int64_t extent,
                                  bool explicit_bounds) {
  if (root == nullptr) return refuse("the tree leaves 64 bits");
  if (!(Checked(lb) + extent).ok())
    return refuse("lower bound " + std::to_string(lb) + " + extent " + std::to_string(extent) +
                  " leaves 64 bits");
  if (!(Checked(origin) + root->true_lb).ok() || !(Checked(origin) + root->true_ub).ok())
    return refuse("origin " + std::to_string(origin) + " + true bounds leave 64 bits");
  std::unique_ptr<const Record> record = make_record(*root, extent);
  const Line line = line_of(*root, extent, record.get());
  const Facts facts = facts_of(*root, extent);
  return Layout(std::make_shared<const Rep>(
      Rep{std::move(root), origin, lb, extent, explicit_bounds, std::move(record), line, facts}));
}

std::optional<Reach> Layout::reach(std::int64_t count) const noexcept {
  if (count < 0) return std::nullopt;
  if (count == 0 || size() == 0) return Reach{};
  const Checked last = Checked(count - 1) * extent();
  const Checked low = lesser(0, last) + true_lb();
  const Checked high = greater(0, last) + true_ub();
  const Checked bytes = Checked(count) * size();
  if (!bytes.ok() || !(high - low).ok()) return std::nullopt;
  return Reach{low.value(), high.value(), bytes.value()};
}

bool operator==(const Layout& a, const Layout& b) noexcept {
  return a.rep_ == b.rep_ || (a.lb() == b.lb() && a.extent() == b.extent() && same_memory(a, b));
}

std::size_t Layout::hash() const noexcept {
  std::uint64_t h = root().hash;
  for (const std::int64_t v : {origin(), lb(), extent()})
    h = (h ^ static_cast<std::uint64_t>(v)) * 0x9e3779b97f4a7c15ULL + (h >> 31);
  return h;
}

bool same_memory(const Layout& a, const Layout& b) noexcept {
  return a.origin() == b.origin() && equal(a.root(), b.root());
}

}  // namespace stria::datatype
