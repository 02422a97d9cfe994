// The provider's clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace stria::verbs {

/// Milliseconds of the monotonic clock, from an arbitrary begin.
inline std::uint64_t now_ms() noexcept {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace stria::verbs
