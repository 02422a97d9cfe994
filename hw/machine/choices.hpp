// Decisions: what the figures of a machine decide, in words.
#pragma once

#include <string>
#include <vector>

#include "hw/machine.hpp"

namespace stria::hw {

/// A figure counts in a decision only where it differs by this factor from what it is compared with: machines
/// are shared, and no figure is exact.
inline constexpr double kClearly = 1.2;
/// Whether both figures were measured, and `a` is clearly less than `b`.
inline bool clearly_less(double a, double b) noexcept {
  return a > 0 && b > 0 && a * kClearly <= b;
}

/// The cost model's own figures of a get (rndv/cost_model.cpp checks that they are the same): start in
/// microseconds, and time for a byte by that of a pipeline. What was measured replaces or scales them.
inline constexpr double kModelAttachStartUs = 2.0, kModelAttachToCells = 0.078 / 0.045;

struct Decision {
  std::string what;      ///< what is decided
  std::string value;     ///< the value in force, unless the variable says otherwise
  std::string figures;   ///< the names of the figures that decide
  bool by_figures;       ///< the figures were measured and differ clearly; false: `value` is the default
  const char* variable;  ///< the variable that decides instead of the figures; "": none
};
/// All decisions that follow from the figures, for people.
std::vector<Decision> explain(const Machine& machine);

}  // namespace stria::hw
