// stria.h: layouts.
#include <cstring>
#include <vector>

#include "datatype/array.hpp"
#include "datatype/describe.hpp"
#include "datatype/pack.hpp"
#include "hw/descriptor_encoders.hpp"
#include "tag/api/convert.hpp"

using namespace stria;
using namespace stria::tag;
using datatype::Layout;

namespace {

/// Gives the application the layout that was made, or refuses with the error.
stria_status_t hand_out(const char* function, Result<Layout> made, stria_layout_t** out) {
  if (!made) return refuse(function, made.error());
  *out = new stria_layout{.value = *std::move(made)};
  return STRIA_OK;
}

std::span<const std::int64_t> list(const std::int64_t* values, std::int64_t count) {
  return {values, static_cast<std::size_t>(count)};
}

/// The entries of the longest list that a process can have: its addresses have 47 bits.
constexpr std::int64_t kMostEntries =
    (std::int64_t{1} << 47) / static_cast<std::int64_t>(sizeof(std::int64_t));

bool is_list(std::int64_t count) noexcept {
  return count >= 0 && count <= kMostEntries;
}

stria_status_t refuse_count(const char* function, const char* what, std::int64_t count) {
  return refuse(Status::invalid, "{}: a count of {} {}, the limits are 0 and {}", function, count, what,
                kMostEntries);
}

/// Refuses a range of a layout's memory that cannot be packed or unpacked; OK: it can.
stria_status_t check_range(const char* function, const stria_layout_t& layout, const datatype::Range& range) {
  const auto reach = layout.value.reach(range.count);
  if (!reach)
    return refuse(Status::invalid, "{}: {} instances of the layout are no 64 bits", function, range.count);
  if (range.offset < 0 || range.length < 0 || range.offset > reach->bytes ||
      range.length > reach->bytes - range.offset)
    return refuse(Status::invalid, "{}: {} bytes from byte {} on leave the packed stream, which has {}",
                  function, range.length, range.offset, reach->bytes);
  return range.length > 0 && lacks_memory(range.base, &layout, 1) ? no_memory(function, &layout, 1)
                                                                  : STRIA_OK;
}

}  // namespace

extern "C" {

stria_status_t stria_layout_bytes(int64_t bytes, stria_layout_t** out) {
  return at_boundary("stria_layout_bytes", [&] {
    if (out == nullptr) return refuse_null("stria_layout_bytes", {{"out", out}});
    if (bytes < 0) return refuse(Status::invalid, "stria_layout_bytes: {} bytes, a size below 0", bytes);
    return hand_out("stria_layout_bytes", Layout::bytes(bytes), out);
  });
}

stria_status_t stria_layout_contiguous(int64_t count, const stria_layout_t* child, stria_layout_t** out) {
  return at_boundary("stria_layout_contiguous", [&] {
    if (any_null(child, out)) return refuse_null("stria_layout_contiguous", {{"child", child}, {"out", out}});
    return hand_out("stria_layout_contiguous", Layout::contiguous(count, child->value), out);
  });
}

stria_status_t stria_layout_vector(int64_t count, int64_t blocklen, int64_t stride_bytes,
                                   const stria_layout_t* child, stria_layout_t** out) {
  return at_boundary("stria_layout_vector", [&] {
    if (any_null(child, out)) return refuse_null("stria_layout_vector", {{"child", child}, {"out", out}});
    return hand_out("stria_layout_vector", Layout::vector(count, blocklen, stride_bytes, child->value), out);
  });
}

stria_status_t stria_layout_indexed(int64_t count, const int64_t* blocklens,
                                    const int64_t* displacements_bytes, const stria_layout_t* child,
                                    stria_layout_t** out) {
  return at_boundary("stria_layout_indexed", [&] {
    if (any_null(child, out)) return refuse_null("stria_layout_indexed", {{"child", child}, {"out", out}});
    if (!is_list(count)) return refuse_count("stria_layout_indexed", "blocks", count);
    if (count > 0 && any_null(blocklens, displacements_bytes))
      return refuse_null("stria_layout_indexed",
                         {{"blocklens", blocklens}, {"displacements_bytes", displacements_bytes}});
    return hand_out("stria_layout_indexed",
                    Layout::indexed(list(blocklens, count), list(displacements_bytes, count), child->value),
                    out);
  });
}

stria_status_t stria_layout_composite(int64_t count, const int64_t* child_counts,
                                      const int64_t* displacements_bytes,
                                      const stria_layout_t* const* children, stria_layout_t** out) {
  return at_boundary("stria_layout_composite", [&] {
    if (out == nullptr) return refuse_null("stria_layout_composite", {{"out", out}});
    if (!is_list(count)) return refuse_count("stria_layout_composite", "parts", count);
    if (count > 0 && any_null(child_counts, displacements_bytes, children))
      return refuse_null("stria_layout_composite", {{"child_counts", child_counts},
                                                    {"displacements_bytes", displacements_bytes},
                                                    {"children", children}});
    for (std::int64_t i = 0; i < count; ++i)
      if (children[i] == nullptr)
        return refuse(Status::invalid, "stria_layout_composite: children[{}] is NULL", i);
    std::vector<Layout> parts;
    parts.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) parts.push_back(children[i]->value);
    return hand_out("stria_layout_composite",
                    Layout::composite(list(child_counts, count), list(displacements_bytes, count), parts),
                    out);
  });
}

/// Seven parameters: those of MPI_Type_create_subarray.
stria_status_t stria_layout_subarray(int64_t ndims, const int64_t* sizes, const int64_t* subsizes,
                                     const int64_t* starts, stria_order_t order, const stria_layout_t* child,
                                     stria_layout_t** out) {
  constexpr const char* kName = "stria_layout_subarray";
  return at_boundary(kName, [&] {
    if (any_null(sizes, subsizes, starts, child, out))
      return refuse_null(
          kName,
          {{"sizes", sizes}, {"subsizes", subsizes}, {"starts", starts}, {"child", child}, {"out", out}});
    if (ndims < 1 || ndims > STRIA_DIMENSIONS_MAX)
      return refuse(Status::invalid, "{}: ndims is {}, the limits are 1 and {}", kName, ndims,
                    STRIA_DIMENSIONS_MAX);
    if (static_cast<int>(order) != STRIA_ORDER_C && static_cast<int>(order) != STRIA_ORDER_FORTRAN)
      return refuse(Status::invalid, "{}: order {} is no STRIA_ORDER_*", kName, static_cast<int>(order));
    auto made = datatype::subarray(
        list(sizes, ndims), list(subsizes, ndims), list(starts, ndims),
        order == STRIA_ORDER_C ? datatype::ArrayOrder::c : datatype::ArrayOrder::fortran, child->value);
    return hand_out(kName, std::move(made), out);
  });
}
static_assert(STRIA_DIMENSIONS_MAX == datatype::kMostDimensions);

stria_status_t stria_layout_resized(const stria_layout_t* child, int64_t lower_bound, int64_t extent,
                                    stria_layout_t** out) {
  return at_boundary("stria_layout_resized", [&] {
    if (any_null(child, out)) return refuse_null("stria_layout_resized", {{"child", child}, {"out", out}});
    return hand_out("stria_layout_resized", Layout::resized(child->value, lower_bound, extent), out);
  });
}

stria_layout_t* stria_layout_retain(const stria_layout_t* layout) {
  auto* shared = const_cast<stria_layout_t*>(layout);
  if (shared != nullptr) shared->references.fetch_add(1, std::memory_order_relaxed);
  return shared;
}

void stria_layout_free(stria_layout_t* layout) {
  // acq_rel: the thread that drops the last reference sees what the others did before they dropped theirs.
  if (layout != nullptr && layout->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete layout;
}

stria_status_t stria_layout_bounds(const stria_layout_t* layout, stria_layout_bounds_t* out) {
  if (any_null(layout, out)) return refuse_null("stria_layout_bounds", {{"layout", layout}, {"out", out}});
  const Layout& value = layout->value;
  *out = {value.size(),    value.lb(),          value.extent(),
          value.true_lb(), value.true_extent(), value.block_count()};
  return STRIA_OK;
}

size_t stria_layout_dump(const stria_layout_t* layout, char* buffer, size_t bytes) {
  if (buffer == nullptr) bytes = 0;
  if (layout == nullptr) {
    static_cast<void>(refuse_null("stria_layout_dump", {{"layout", layout}}));
    if (bytes > 0) buffer[0] = '\0';
    return 1;
  }
  try {
    const std::string text = datatype::describe(layout->value) + hw::describe_forms(layout->value);
    if (bytes > 0) buffer[text.copy(buffer, bytes - 1)] = '\0';
    return text.size() + 1;
  } catch (const std::bad_alloc&) {
    if (bytes > 0) buffer[0] = '\0';
    return 1;
  }
}

/// Six parameters: the C interface has no type for a range.
stria_status_t stria_layout_pack(const stria_layout_t* layout, const void* base, int64_t count,
                                 int64_t offset, int64_t length, void* out) {
  if (layout == nullptr || (length > 0 && out == nullptr))
    return refuse_null("stria_layout_pack", {{"layout", layout}, {"out", out}});
  const datatype::Range range = datatype::range_of(layout->value, base, count, offset, length);
  if (const stria_status_t wrong = check_range("stria_layout_pack", *layout, range); wrong != STRIA_OK)
    return wrong;
  datatype::pack(range, out);
  return STRIA_OK;
}

/// Six parameters, as stria_layout_pack().
stria_status_t stria_layout_unpack(const stria_layout_t* layout, void* base, int64_t count, int64_t offset,
                                   int64_t length, const void* in) {
  if (layout == nullptr || (length > 0 && in == nullptr))
    return refuse_null("stria_layout_unpack", {{"layout", layout}, {"in", in}});
  const datatype::Range range{&layout->value, base, count, offset, length};
  if (const stria_status_t wrong = check_range("stria_layout_unpack", *layout, range); wrong != STRIA_OK)
    return wrong;
  datatype::unpack(range, in);
  return STRIA_OK;
}

}  // extern "C"
