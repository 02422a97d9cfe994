// Layouts, built once and shared, and what an operation is given: contiguous values, or instances of a
// layout.
#ifndef STRIA_API_LAYOUT_HPP
#define STRIA_API_LAYOUT_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "stria/api/error.hpp"

namespace stria::api {

/// A committed description of memory. Copying shares it. Offsets and strides are signed bytes.
class Layout {
 public:
  /// One part of a composite: `count` instances of `layout` at `displacement`.
  struct Part;

  /// `n` contiguous bytes.
  static Layout bytes(std::int64_t n) {
    stria_layout_t* out = nullptr;
    check(stria_layout_bytes(n, &out), "stria_layout_bytes");
    return Layout(out);
  }
  /// The bytes of one T.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  static Layout of() { return bytes(static_cast<std::int64_t>(sizeof(T))); }
  /// `count` children, each one extent after the other.
  static Layout contiguous(std::int64_t count, const Layout& child) {
    stria_layout_t* out = nullptr;
    check(stria_layout_contiguous(count, child.get(), &out), "stria_layout_contiguous");
    return Layout(out);
  }
  /// `count` blocks of `blocklen` children, block starts `stride_bytes` apart.
  static Layout vector(std::int64_t count, std::int64_t blocklen, std::int64_t stride_bytes,
                       const Layout& child) {
    stria_layout_t* out = nullptr;
    check(stria_layout_vector(count, blocklen, stride_bytes, child.get(), &out), "stria_layout_vector");
    return Layout(out);
  }
  /// Block i is blocklens[i] children at displacements_bytes[i]. The spans are equally long.
  static Layout indexed(std::span<const std::int64_t> blocklens,
                        std::span<const std::int64_t> displacements_bytes, const Layout& child) {
    if (blocklens.size() != displacements_bytes.size())
      throw Error(STRIA_ERR_INVALID, "stria_layout_indexed: " + std::to_string(blocklens.size()) +
                                         " block lengths, but " + std::to_string(displacements_bytes.size()) +
                                         " displacements");
    stria_layout_t* out = nullptr;
    check(stria_layout_indexed(static_cast<std::int64_t>(blocklens.size()), blocklens.data(),
                               displacements_bytes.data(), child.get(), &out),
          "stria_layout_indexed");
    return Layout(out);
  }
  /// Different parts behind one another, in the order given.
  static Layout composite(std::span<const Part> parts);
  /// A box of an array: of dimension d, which has sizes[d] indices, the subsizes[d] from starts[d] on. One
  /// element is one child. Offset 0 is the array's first element, the extent that of the whole array. The
  /// spans are equally long.
  static Layout subarray(std::span<const std::int64_t> sizes, std::span<const std::int64_t> subsizes,
                         std::span<const std::int64_t> starts, const Layout& child,
                         stria_order_t order = STRIA_ORDER_C) {
    if (sizes.size() != subsizes.size() || sizes.size() != starts.size())
      throw Error(STRIA_ERR_INVALID, "stria_layout_subarray: " + std::to_string(sizes.size()) + " sizes, " +
                                         std::to_string(subsizes.size()) + " subsizes and " +
                                         std::to_string(starts.size()) + " starts");
    stria_layout_t* out = nullptr;
    check(stria_layout_subarray(static_cast<std::int64_t>(sizes.size()), sizes.data(), subsizes.data(),
                                starts.data(), order, child.get(), &out),
          "stria_layout_subarray");
    return Layout(out);
  }
  /// Of the sizes, subsizes and starts {..} themselves.
  static Layout subarray(std::initializer_list<std::int64_t> sizes,
                         std::initializer_list<std::int64_t> subsizes,
                         std::initializer_list<std::int64_t> starts, const Layout& child,
                         stria_order_t order = STRIA_ORDER_C) {
    const auto span = [](std::initializer_list<std::int64_t> list) {
      return std::span(list.begin(), list.size());
    };
    return subarray(span(sizes), span(subsizes), span(starts), child, order);
  }
  /// The same memory with another lower bound and extent.
  static Layout resized(const Layout& child, std::int64_t lower_bound, std::int64_t extent) {
    stria_layout_t* out = nullptr;
    check(stria_layout_resized(child.get(), lower_bound, extent, &out), "stria_layout_resized");
    return Layout(out);
  }

  Layout(const Layout& other) : handle_(stria_layout_retain(other.get())) {}
  Layout(Layout&&) noexcept = default;
  Layout& operator=(const Layout& other) {
    if (this != &other) handle_.reset(stria_layout_retain(other.get()));
    return *this;
  }
  Layout& operator=(Layout&&) noexcept = default;
  ~Layout() = default;

  /// Size, extent, true extent and number of contiguous blocks of one instance.
  Bounds bounds() const {
    Bounds out{};
    check(stria_layout_bounds(get(), &out), "stria_layout_bounds");
    return out;
  }
  /// The tree and its figures as text for people.
  std::string dump() const {
    std::string text(stria_layout_dump(get(), nullptr, 0), '\0');
    const std::size_t needed = stria_layout_dump(get(), text.data(), text.size());
    text.resize(std::min(needed, text.size()));
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }
  /// Copies bytes [offset, offset + out.size()) of the packed stream of `count` instances at `base` to `out`.
  Status pack(const void* base, std::int64_t count, std::int64_t offset,
              std::span<std::byte> out) const noexcept {
    return stria_layout_pack(get(), base, count, offset, static_cast<std::int64_t>(out.size()), out.data());
  }
  /// Copies `in` to bytes [offset, offset + in.size()) of the packed stream of `count` instances at `base`.
  Status unpack(void* base, std::int64_t count, std::int64_t offset,
                std::span<const std::byte> in) const noexcept {
    return stria_layout_unpack(get(), base, count, offset, static_cast<std::int64_t>(in.size()), in.data());
  }
  /// The C object; it stays this layout's.
  stria_layout_t* get() const noexcept { return handle_.get(); }

 private:
  explicit Layout(stria_layout_t* handle) noexcept : handle_(handle) {}
  detail::Handle<stria_layout_t, stria_layout_free> handle_;
};

struct Layout::Part {
  std::int64_t count;
  std::int64_t displacement;
  Layout layout;
};

inline Layout Layout::composite(std::span<const Part> parts) {
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> displacements;
  std::vector<const stria_layout_t*> children;
  for (const Part& part : parts) {
    counts.push_back(part.count);
    displacements.push_back(part.displacement);
    children.push_back(part.layout.get());
  }
  stria_layout_t* out = nullptr;
  check(stria_layout_composite(static_cast<std::int64_t>(parts.size()), counts.data(), displacements.data(),
                               children.data(), &out),
        "stria_layout_composite");
  return Layout(out);
}

/// Memory an operation may write: contiguous values, or instances of a layout at a base address. Owns
/// nothing: layout and values live until the operation ended, so a temporary one is refused when the program
/// is compiled. A temporary span is none of these, as it owns nothing itself.
struct Memory {
  void* base = nullptr;
  const stria_layout_t* layout = nullptr;
  std::uint64_t count = 0;  ///< instances, or bytes without a layout

  Memory() = default;
  /// `instances` of `shape`, offset 0 of the first one at `address`.
  Memory(void* address, const Layout& shape, std::uint64_t instances = 1) noexcept
      : base(address), layout(shape.get()), count(instances) {}
  Memory(void* address, const Layout&& temporary, std::uint64_t instances = 1) = delete;
  /// All values of a span, vector or array.
  template <std::ranges::contiguous_range R>
  requires std::ranges::borrowed_range<R> && std::ranges::sized_range<R> &&
      std::is_trivially_copyable_v<std::ranges::range_value_t<R>> &&
      (!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
          Memory(R&& values) noexcept  // NOLINT(google-explicit-constructor): a vector is memory
      : base(std::ranges::data(values)),
        count(std::ranges::size(values) * sizeof(std::ranges::range_value_t<R>)) {}
  template <std::ranges::contiguous_range R>
  requires(!std::ranges::borrowed_range<R>) Memory(R&& temporary)
  = delete;
};

/// Memory an operation only reads. As Memory, it refuses temporary layouts and values.
struct ConstMemory {
  const void* base = nullptr;
  const stria_layout_t* layout = nullptr;
  std::uint64_t count = 0;  ///< instances, or bytes without a layout

  ConstMemory() = default;
  /// `instances` of `shape`, offset 0 of the first one at `address`.
  ConstMemory(const void* address, const Layout& shape, std::uint64_t instances = 1) noexcept
      : base(address), layout(shape.get()), count(instances) {}
  ConstMemory(const void* address, const Layout&& temporary, std::uint64_t instances = 1) = delete;
  /// All values of a span, vector or array.
  template <std::ranges::contiguous_range R>
  requires std::ranges::borrowed_range<R> && std::ranges::sized_range<R> &&
      std::is_trivially_copyable_v<std::ranges::range_value_t<R>>
      ConstMemory(R&& values)
  noexcept  // NOLINT(google-explicit-constructor): a vector is memory
      : base(std::ranges::data(values)),
        count(std::ranges::size(values) * sizeof(std::ranges::range_value_t<R>)) {}
  template <std::ranges::contiguous_range R>
  requires(!std::ranges::borrowed_range<R>) ConstMemory(R&& temporary)
  = delete;
};

}  // namespace stria::api

#endif
