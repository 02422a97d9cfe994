// Derived values of a node (sizes, true bounds, hash), each computed once, and structural equality.
#include "datatype/node.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <type_traits>
#include <utility>

#include "datatype/checked.hpp"

namespace stria::datatype {
namespace {

/// Combines hashes; the constant is 2^64 / golden ratio, an odd number whose bits are well spread.
class Hasher {
 public:
  explicit Hasher(std::uint64_t start = 0x51a1a) noexcept : state_(start) {}
  void add(std::uint64_t v) noexcept {
    state_ = (state_ ^ v) * 0x9e3779b97f4a7c15ULL;
    state_ ^= state_ >> 29;
  }
  void add(std::int64_t v) noexcept { add(static_cast<std::uint64_t>(v)); }
  /// Adds a list by four independent hashes, so that the multiplications for a long list overlap.
  template <class List>
  void add_all(const List& v) noexcept {
    Hasher lanes[4] = {Hasher(1), Hasher(2), Hasher(3), Hasher(4)};
    std::size_t i = 0;
    for (; i + 4 <= v.size(); i += 4)
      for (std::size_t k = 0; k < 4; ++k) lanes[k].add(std::int64_t{v[i + k]});
    for (; i < v.size(); ++i) lanes[0].add(std::int64_t{v[i]});
    for (const Hasher& lane : lanes) add(lane.state_);
  }
  void add_all(const Offsets& v) noexcept {
    if (v.is_narrow())
      add_all(std::span(v.data<std::int32_t>(), v.size()));
    else
      add_all(std::span(v.data<std::int64_t>(), v.size()));
  }
  std::size_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_;
};

/// The derived values of a node while they are computed with overflow checks.
struct Derived {
  Checked size = 0, low = 0, high = 0, runs = 0, first = 0, last_at = 0, last_bytes = 0;
  int depth = 1;
  Hasher hash;
};

void derive(const Block& block, Derived& d) {
  d.size = block.bytes;
  d.high = block.bytes;
  d.runs = block.bytes > 0 ? 1 : 0;
  d.first = block.bytes;
  d.last_bytes = block.bytes;
  d.hash.add(block.bytes);
}

void derive(const Strided& strided, Derived& d) {
  const Node& child = *strided.child;
  const Checked last = Checked(strided.count - 1) * strided.stride;
  d.size = Checked(strided.count) * child.size;
  d.low = lesser(0, last) + child.true_lb;
  d.high = greater(0, last) + child.true_ub;
  d.runs = Checked(strided.count) * child.runs;
  d.first = child.first_bytes;
  d.last_at = last + child.last_at;
  d.last_bytes = child.last_bytes;
  d.depth = child.depth + 1;
  d.hash.add(strided.count);
  d.hash.add(strided.stride);
  d.hash.add(std::uint64_t{child.hash});
}

void derive(const Indexed& indexed, Derived& d) {
  const Node& child = *indexed.child;
  const auto n = static_cast<std::int64_t>(indexed.displacements.size());
  std::int64_t low = 0, high = 0;
  for (std::size_t i = 0; i < indexed.displacements.size(); ++i) {
    low = std::min(low, indexed.displacements[i]);
    high = std::max(high, indexed.displacements[i]);
  }
  d.size = Checked(n) * child.size;
  d.low = Checked(low) + child.true_lb;
  d.high = Checked(high) + child.true_ub;
  d.runs = Checked(n) * child.runs;
  d.first = child.first_bytes;
  d.last_at = Checked(indexed.displacements.back()) + child.last_at;
  d.last_bytes = child.last_bytes;
  d.depth = child.depth + 1;
  d.hash.add_all(indexed.displacements);
  d.hash.add(std::uint64_t{child.hash});
}

void derive(const Blocks& blocks, Derived& d) {
  const std::size_t n = blocks.displacements.size();
  std::int64_t low = 0, high = 0;
  bool overflow = false;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t at = blocks.displacements[i];
    std::int64_t end = 0;
    overflow |= __builtin_add_overflow(at, blocks.starts[i + 1] - blocks.starts[i], &end);
    low = std::min(low, at);
    high = std::max(high, end);
  }
  d.low = low;
  d.high = overflow ? Checked(INT64_MAX) + 1 : Checked(high);
  d.size = blocks.starts[n];
  d.runs = static_cast<std::int64_t>(n);
  d.first = blocks.starts[1];
  d.last_at = blocks.displacements[n - 1];
  d.last_bytes = blocks.starts[n] - blocks.starts[n - 1];
  d.hash.add_all(blocks.displacements);
  d.hash.add_all(blocks.starts);
}

void derive(const Composite& composite, Derived& d) {
  const std::size_t n = composite.displacements.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Node& child = *composite.children[i];
    const Checked at = composite.displacements[i];
    d.low = lesser(d.low, at + child.true_lb);
    d.high = greater(d.high, at + child.true_ub);
    d.runs = d.runs + child.runs;
    d.depth = std::max(d.depth, child.depth + 1);
    d.hash.add(std::uint64_t{child.hash});
  }
  d.size = composite.starts[n];
  d.first = composite.children[0]->first_bytes;
  d.last_at = Checked(composite.displacements[n - 1]) + composite.children[n - 1]->last_at;
  d.last_bytes = composite.children[n - 1]->last_bytes;
  d.hash.add_all(composite.displacements);
}

bool same(const Block& a, const Block& b) noexcept {
  return a.bytes == b.bytes;
}
bool same(const Strided& a, const Strided& b) noexcept {
  return a.count == b.count && a.stride == b.stride && equal(*a.child, *b.child);
}
bool same(const Indexed& a, const Indexed& b) noexcept {
  return a.displacements == b.displacements && equal(*a.child, *b.child);
}
bool same(const Blocks& a, const Blocks& b) noexcept {
  return a.displacements == b.displacements && a.starts == b.starts;
}
bool same(const Composite& a, const Composite& b) noexcept {
  return a.displacements == b.displacements &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                    [](const NodePtr& x, const NodePtr& y) { return equal(*x, *y); });
}

/// The record of a repeated child at the distance it is repeated at.
std::unique_ptr<const Record> record_of(const Form& form) {
  if (const auto* strided = std::get_if<Strided>(&form)) return make_record(*strided->child, strided->stride);
  const auto* indexed = std::get_if<Indexed>(&form);
  if (indexed == nullptr || indexed->child->block() != nullptr || indexed->child->runs > kRecordMoves)
    return nullptr;
  const Offsets& places = indexed->displacements;
  std::int64_t distance = INT64_MAX;
  for (std::size_t i = 1; i < places.size(); ++i) distance = std::min(distance, places[i] - places[i - 1]);
  return make_listed_record(*indexed->child, distance);
}

/// Whether both nodes have the form F, with equal contents. Uses get_if, because std::visit and std::get may
/// throw, and equal() may not.
template <class F>
bool both_and_same(const Node& a, const Node& b) noexcept {
  const F* x = std::get_if<F>(&a.form);
  const F* y = std::get_if<F>(&b.form);
  return x != nullptr && y != nullptr && same(*x, *y);
}

}  // namespace

NodePtr make_node(Form form, bool with_record) {
  Derived d;
  d.hash.add(std::uint64_t{form.index()});
  std::visit([&d](const auto& f) { derive(f, d); }, form);
  const Checked true_extent =
      d.high - d.low;  // it fits, so the difference of any two offsets does: users of a tree need no checks
  const bool fits = d.size.ok() && d.low.ok() && d.high.ok() && true_extent.ok() && d.runs.ok() &&
                    d.first.ok() && d.last_at.ok() && d.last_bytes.ok();
  if (!fits || d.depth > kMaxDepth) return nullptr;
  std::unique_ptr<const Record> record = with_record ? record_of(form) : nullptr;
  const auto size = static_cast<std::uint64_t>(d.size.value());
  const int size_log2 = std::has_single_bit(size) ? std::countr_zero(size) : -1;
  const Divisor by_size = size == 0 || size_log2 >= 0 ? Divisor() : Divisor(d.size.value());
  return std::make_shared<const Node>(Node{std::move(form), d.size.value(), d.low.value(), d.high.value(),
                                           d.runs.value(), d.first.value(), d.last_at.value(),
                                           d.last_bytes.value(), d.depth, size_log2, d.hash.value(),
                                           std::move(record), by_size});
}

std::size_t memory_of(const Node& node) noexcept {
  const std::size_t own = sizeof(Node) + (node.record ? node.record->memory() : 0);
  if (const Strided* s = node.strided()) return own + memory_of(*s->child);
  if (const auto* x = std::get_if<Indexed>(&node.form))
    return own + x->displacements.bytes() + memory_of(*x->child);
  if (const auto* b = std::get_if<Blocks>(&node.form))
    return own + b->displacements.bytes() + b->starts.bytes() + b->stretches.size() * sizeof(Stretch);
  const auto* c = std::get_if<Composite>(&node.form);
  if (c == nullptr) return own;
  std::size_t sum = own + c->children.size() * (2 * sizeof(std::int64_t) + sizeof(NodePtr));
  for (const NodePtr& child : c->children) sum += memory_of(*child);
  return sum;
}

bool fill_starts(Composite& composite) {
  composite.starts.clear();
  composite.starts.reserve(composite.children.size() + 1);
  composite.starts.push_back(0);
  Checked sum = 0;
  for (const NodePtr& child : composite.children) {
    sum = sum + child->size;
    if (!sum.ok()) return false;
    composite.starts.push_back(sum.value());
  }
  return true;
}

bool equal(const Node& a, const Node& b) noexcept {
  if (&a == &b) return true;
  if (a.hash != b.hash || a.size != b.size || a.form.index() != b.form.index()) return false;
  return both_and_same<Block>(a, b) || both_and_same<Strided>(a, b) || both_and_same<Indexed>(a, b) ||
         both_and_same<Blocks>(a, b) || both_and_same<Composite>(a, b);
}

}  // namespace stria::datatype
