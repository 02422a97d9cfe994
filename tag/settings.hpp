// Settings: the values of a worker's configuration variables, read once when the context opens.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/config.hpp"
#include "rndv/engine.hpp"

namespace stria::tag {

struct Settings {
  std::uint64_t eager_limit = 0;  ///< bytes
  bool overlaps_packing = false;  ///< announces messages that packs_long(), although they could go eagerly
  bool copies_own = false;        ///< a worker copies its messages to itself at once (own.cpp)
  std::uint64_t unexpected_budget = 0;  ///< bytes
  std::chrono::milliseconds close_timeout{0};
  std::chrono::milliseconds liveness{0};
  std::chrono::microseconds wait_spin{0};
  rndv::Options rndv;
};

Settings read_settings(const Config& config);

}  // namespace stria::tag
