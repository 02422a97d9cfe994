// The values of the variables of a context's workers, read once when the context opens.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/config.hpp"
#include "rndv/engine.hpp"

namespace stria::tag {

struct Settings {
  std::uint64_t eager_limit = 0;
  bool overlaps_packing = false;  ///< announces what packs_long(), although it is short enough to go eagerly
  bool copies_own = false;        ///< a worker's messages to itself, at once
  std::uint64_t unexpected_budget = 0;
  std::chrono::milliseconds close_timeout{0};
  std::chrono::milliseconds liveness{0};
  std::chrono::microseconds wait_spin{0};
  rndv::Options rndv;
};

Settings read_settings(const Config& config);

}  // namespace stria::tag
