// A monotonic clock in milliseconds, for time limits that need no better resolution.
#pragma once

#include <chrono>
#include <cstdint>

namespace stria::uct {

inline std::uint64_t now_ms() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

}  // namespace stria::uct
