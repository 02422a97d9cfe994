// What the figures of a machine decide, in words.
#pragma once

#include <string>
#include <vector>

#include "hw/machine.hpp"

namespace stria::hw {

/// A figure counts in a decision only where it differs by this factor from what it is compared with: machines
/// are shared, and no figure is exact.
inline constexpr double kClearly = 1.2;
inline bool clearly_less(double a, double b) noexcept {
  return a > 0 && b > 0 && a * kClearly <= b;
}

struct Decision {
  std::string what;      ///< that is decided
  std::string value;     ///< in force, unless the variable says otherwise
  std::string figures;   ///< the names of those that decide it
  bool by_figures;       ///< they were measured and differ clearly; false: `value` is the default
  const char* variable;  ///< that decides it instead; "": none
};
std::vector<Decision> explain(const Machine& machine);

}  // namespace stria::hw
