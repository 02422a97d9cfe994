// A monotonic clock for deadlines.
#pragma once

#include <chrono>
#include <cstdint>

namespace stria::tcp {

inline std::uint64_t now_ms() noexcept {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count());
}

inline std::uint64_t now_ns() noexcept {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count());
}

}  // namespace stria::tcp
