// The memory that a call of the application describes, as a payload.
#pragma once

#include <cstdint>

#include "tag/objects.hpp"
#include "transport/contract.hpp"

namespace stria::tag {

/// `count` bytes at an address; a length below 0 when they are more than 2^63 - 1.
inline stria_payload_t plain_memory(const void* base, std::uint64_t count) noexcept {
  const auto bytes = static_cast<std::int64_t>(count);
  return {nullptr, const_cast<void*>(base), bytes, 0, bytes};
}

/// describe_memory() for memory with a layout.
Status describe_layout(const void* base, const stria_layout_t& layout, std::uint64_t count,
                       stria_payload_t& out) noexcept;
/// Describes `count` instances of the layout at `base` (null layout: `count` bytes). A layout that is
/// contiguous for this count becomes plain memory. invalid: the amount is negative, or overflows.
inline Status describe_memory(const void* base, const stria_layout_t* layout, std::uint64_t count,
                              stria_payload_t& out) noexcept {
  if (layout != nullptr) return describe_layout(base, *layout, count, out);
  out = plain_memory(base, count);
  return out.length < 0 ? Status::invalid : Status::ok;
}

}  // namespace stria::tag
