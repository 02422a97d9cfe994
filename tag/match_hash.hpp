// The hash both matching queues use: source index and the tag bits that must agree.
#pragma once

#include <cstdint>

namespace stria::tag {

/// A source index that no peer has.
inline constexpr std::uint32_t kAnySource = ~0u;

/// Spreads neighbouring tags and sources over the bins; the upper bits are the good ones.
constexpr std::uint32_t match_hash(std::uint32_t source, std::uint64_t tag) noexcept {
  const std::uint64_t mixed = (tag ^ (static_cast<std::uint64_t>(source) << 40)) * 0x9e3779b97f4a7c15ull;
  return static_cast<std::uint32_t>(mixed >> 32);
}

}  // namespace stria::tag
