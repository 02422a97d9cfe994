// The STRIA_SHM_* variables of one device, checked against each other.
#pragma once

#include "base/result.hpp"
#include "stria/provider.h"
#include "transport/shm/segment.hpp"

namespace stria::shm {

enum class AttachMode : std::uint8_t { any, proc, socket };

enum class DistanceMode : std::uint8_t { automatic, near, far };

/// Minimum size, in bytes, of contiguous payloads that are stored to cells by the string instruction
/// (hw/string_copy.hpp), where the processor says that the instruction is fast. To near peers it is
/// kLongStringLeast where vectors were measured to be clearly faster for 4 KiB, and to far peers none goes so
/// where non-temporal stores were (hw::Choices).
inline constexpr std::uint32_t kStringLeast = 2048, kLongStringLeast = 12288;

/// Minimum size, in bytes, for non-temporal stores to a far peer, and for a cell in place of its window.
inline constexpr std::uint32_t kFarNontemporalLeast = 512;

struct Settings {
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};
  Shape shape;
  bool short_laps = false;  ///< half of a window is not used while its receiver keeps up (window.hpp)
  HugePages huge_pages = HugePages::ordinary;  ///< when cells become huge pages, if the kernel has any
  bool cma = true;
  AttachMode attach = AttachMode::any;
  DistanceMode distance = DistanceMode::automatic;
  /// Minimum size, in bytes, for the string instruction, to near and to far peers. 0: the user forced it on.
  std::uint32_t near_string_least = kNever, far_string_least = kNever;
  /// Minimum size, in bytes, of payloads to far peers that take a cell although they fit the window.
  std::uint32_t far_cell_least = kFarNontemporalLeast;
  std::uint32_t pio_max = 0;  ///< longest payload of a record of a window, in bytes

  /// Whether the kind of stores may be chosen by what was measured. False: STRIA_SHM_DISTANCE is near or
  /// far, or STRIA_SHM_STRINGS is on.
  bool may_choose_stores() const noexcept {
    return distance == DistanceMode::automatic && near_string_least > 0;
  }
};

/// Reads and checks the variables. Errors: invalid; the text names variable and value.
Result<Settings> read_settings(const stria_device_params_t& params);

}  // namespace stria::shm
