// The one clock of the benchmarks: monotonic, nanoseconds, about 20 ns a reading.
#pragma once

#include <chrono>

namespace stria::bench {

inline double now_ns() noexcept {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace stria::bench
