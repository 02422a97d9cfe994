#include "datatype/descriptor.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "datatype/checked.hpp"

namespace stria::datatype {
namespace {

enum Tag : std::uint8_t { kBlock, kStrided, kIndexed, kBlocks, kComposite };
constexpr std::uint8_t kExplicitBounds = 1;

/// Writes up to `most` bytes. An attempt to write more makes the writer full: it ignores all further writes,
/// and its loops over lists end.
class Writer {
 public:
  explicit Writer(std::size_t most) noexcept : most_(most) {}

  bool full() const noexcept { return full_; }
  void byte(std::uint8_t v) {
    full_ = full_ || out_.size() == most_;
    if (!full_) out_.push_back(std::byte{v});
  }
  void number(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) byte(static_cast<std::uint8_t>(v | 0x80));
    byte(static_cast<std::uint8_t>(v));
  }
  void count(std::int64_t v) { number(static_cast<std::uint64_t>(v)); }
  void offset(std::int64_t v) {
    number((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63));
  }
  /// Writes the number of displacements, then their differences. Displacement 0 is always 0 (node.hpp), so it
  /// is not written. The differences fit 64 bits: make_node() has checked that.
  template <class List>
  void displacements(const List& v) {
    number(v.size());
    for (std::size_t i = 1; i < v.size() && !full_; ++i) offset(v[i] - v[i - 1]);
  }
  std::vector<std::byte> take() && { return std::move(out_); }

  void node(const Node& node) {
    byte(static_cast<std::uint8_t>(node.form.index()));
    std::visit([this](const auto& form) { write(form); }, node.form);
  }

 private:
  void write(const Block& b) { count(b.bytes); }
  void write(const Strided& s) {
    count(s.count);
    offset(s.stride);
    node(*s.child);
  }
  void write(const Indexed& x) {
    displacements(x.displacements);
    node(*x.child);
  }
  void write(const Blocks& b) {
    displacements(b.displacements);
    for (std::size_t i = 0; i < b.displacements.size() && !full_; ++i) count(b.starts[i + 1] - b.starts[i]);
  }
  void write(const Composite& c) {
    displacements(c.displacements);
    for (std::size_t i = 0; i < c.children.size() && !full_; ++i) node(*c.children[i]);
  }

  std::size_t most_;
  bool full_ = false;
  std::vector<std::byte> out_;
};
static_assert(std::is_same_v<std::variant_alternative_t<kComposite, Form>, Composite>);

/// Reads a descriptor. After the first failure every read gives 0, and reason() stays that of the first.
class Reader {
 public:
  Reader(std::span<const std::byte> in, std::size_t record_bytes) noexcept
      : in_(in), record_bytes_(record_bytes) {}

  bool ok() const noexcept { return reason_ == nullptr; }
  const char* reason() const noexcept { return reason_; }
  std::size_t left() const noexcept { return in_.size() - at_; }
  void fail(const char* reason) noexcept {
    if (reason_ == nullptr) reason_ = reason;
  }

  std::uint8_t byte() noexcept {
    if (!ok() || left() == 0) {
      fail("it ends early");
      return 0;
    }
    return std::to_integer<std::uint8_t>(in_[at_++]);
  }
  std::uint64_t number() noexcept {
    std::uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t b = byte();
      if (!ok()) return 0;
      if (shift == 63 && b > 1) break;
      v |= std::uint64_t{b & 0x7fU} << shift;
      if (b < 0x80) {
        if (b == 0 && shift > 0) fail("a number is not in its shortest form");
        return ok() ? v : 0;
      }
    }
    fail("a number leaves 64 bits");
    return 0;
  }
  std::int64_t count() noexcept {
    const std::uint64_t v = number();
    if (v > static_cast<std::uint64_t>(INT64_MAX)) {
      fail("a count leaves 63 bits");
      return 0;
    }
    return static_cast<std::int64_t>(v);
  }
  std::int64_t offset() noexcept {
    const std::uint64_t v = number();
    return static_cast<std::int64_t>((v >> 1) ^ (~(v & 1) + 1));
  }
  /// Reads at least two displacements. Each but the first takes at least one byte of input, so the claimed
  /// number is checked against the bytes left before memory is allocated.
  std::vector<std::int64_t> displacements() {
    const std::uint64_t n = number();
    if (ok() && (n < 2 || n - 1 > left())) fail("a list has an impossible length");
    std::vector<std::int64_t> out;
    if (!ok()) return out;
    out.reserve(n);
    out.push_back(0);
    Checked sum = 0;
    for (std::uint64_t i = 1; i < n; ++i) {
      sum = sum + offset();
      if (!sum.ok()) fail("a displacement leaves 64 bits");
      if (!ok()) return out;
      out.push_back(sum.value());
    }
    return out;
  }

  /// Reads a node at level `depth` of the tree. Null after an error.
  NodePtr node(int depth) {
    if (depth > kMaxDepth) fail("it is nested too deeply");
    const std::uint8_t tag = byte();
    if (!ok()) return nullptr;
    switch (tag) {
      case kBlock:
        return block();
      case kStrided:
        return strided(depth);
      case kIndexed:
        return indexed(depth);
      case kBlocks:
        return blocks();
      case kComposite:
        return composite(depth);
      default:
        fail("it has an unknown kind of node");
        return nullptr;
    }
  }

 private:
  NodePtr finish(Form form) {
    if (!ok()) return nullptr;
    NodePtr node = make_node(std::move(form), record_bytes_ > 0);
    if (!node) fail("a size or bound leaves 64 bits");
    if (node && node->record) record_bytes_ -= std::min(record_bytes_, node->record->memory());
    return node;
  }
  NodePtr block() {
    const std::int64_t bytes = count();
    if (bytes == 0) fail("an inner node is empty");
    return finish(Block{bytes});
  }
  NodePtr strided(int depth) {
    Strided s;
    s.count = count();
    s.stride = offset();
    if (s.count < 2) fail("a strided node has fewer than 2 elements");
    if (ok()) s.child = node(depth + 1);
    return finish(std::move(s));
  }
  NodePtr indexed(int depth) {
    Indexed x;
    x.displacements = Offsets(displacements());
    if (ok()) x.child = node(depth + 1);
    return finish(std::move(x));
  }
  NodePtr blocks() {
    std::vector<std::int64_t> places = displacements(), starts;
    if (ok() && places.size() > left()) fail("a list has an impossible length");
    if (!ok()) return nullptr;
    starts.reserve(places.size() + 1);
    starts.push_back(0);
    Checked sum = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::int64_t bytes = count();
      if (bytes == 0) fail("an inner node is empty");
      sum = sum + bytes;
      if (!sum.ok()) fail("a size or bound leaves 64 bits");
      if (!ok()) return nullptr;
      starts.push_back(sum.value());
    }
    return finish(Blocks(std::move(places), std::move(starts)));
  }
  NodePtr composite(int depth) {
    Composite c;
    c.displacements = displacements();
    if (ok() && c.displacements.size() > left() / 2) fail("a list has an impossible length");
    if (!ok()) return nullptr;
    c.children.reserve(c.displacements.size());
    for (std::size_t i = 0; i < c.displacements.size(); ++i) {
      NodePtr child = node(depth + 1);
      if (!child) return nullptr;
      c.children.push_back(std::move(child));
    }
    if (!fill_starts(c)) fail("a size or bound leaves 64 bits");
    return finish(std::move(c));
  }

  std::span<const std::byte> in_;
  std::size_t at_ = 0;
  std::size_t record_bytes_;  // memory left for records; at 0, further nodes get none
  const char* reason_ = nullptr;
};

Error malformed(const std::string& reason) {
  return Error{Status::invalid, "layout descriptor refused: " + reason};
}

}  // namespace

std::vector<std::byte> encode(const Layout& layout) {
  return *encode(layout, SIZE_MAX);
}

std::optional<std::vector<std::byte>> encode(const Layout& layout, std::size_t most) {
  Writer out(most);
  out.byte(kDescriptorVersion);
  out.byte(layout.has_explicit_bounds() ? kExplicitBounds : 0);
  out.offset(layout.origin());
  out.offset(layout.lb());
  out.offset(layout.extent());
  out.node(layout.root());
  if (out.full()) return std::nullopt;
  return std::move(out).take();
}

Result<Layout> decode(std::span<const std::byte> descriptor, const DescriptorLimits& limits) {
  if (descriptor.size() > limits.max_descriptor_bytes)
    return malformed("length " + std::to_string(descriptor.size()) + " > " +
                     std::to_string(limits.max_descriptor_bytes));
  Reader in(descriptor, limits.max_record_bytes);
  const std::uint8_t version = in.byte();
  if (in.ok() && version != kDescriptorVersion)
    return malformed("version " + std::to_string(version) + " is not " + std::to_string(kDescriptorVersion));
  const std::uint8_t flags = in.byte();
  if ((flags & ~kExplicitBounds) != 0) in.fail("it has unknown flags");
  const std::int64_t origin = in.offset();
  const std::int64_t lb = in.offset();
  const std::int64_t extent = in.offset();
  // A layout of no bytes is an empty block, which is only allowed as the root.
  const std::span<const std::byte> rest = descriptor.last(in.left());
  NodePtr root;
  if (in.ok() && rest.size() == 2 && rest[0] == std::byte{kBlock} && rest[1] == std::byte{0}) {
    if (origin != 0) in.fail("no bytes have an origin");
    in.byte();
    in.byte();
    root = make_node(Block{0});
  } else if (in.ok()) {
    root = in.node(1);
  }
  if (!in.ok()) return malformed(in.reason());
  if (in.left() > 0) return malformed(std::to_string(in.left()) + " bytes follow its end");
  if (root->size > limits.max_packed_bytes)
    return malformed("size " + std::to_string(root->size) + " > " + std::to_string(limits.max_packed_bytes));
  return Layout::from_parts(origin, std::move(root), lb, extent, (flags & kExplicitBounds) != 0);
}

}  // namespace stria::datatype
