// The STRIA_SHM_* variables of one device, checked against each other.
#pragma once

#include "base/result.hpp"
#include "stria/provider.h"
#include "transport/shm/segment.hpp"

namespace stria::shm {

enum class AttachMode : std::uint8_t { any, proc, socket };

enum class DistanceMode : std::uint8_t { learnt, near, far };

/// From so many bytes on, contiguous ones are stored to cells by the string instruction (hw/string_copy.hpp),
/// where the processor says that it is fast. Zen 5 has room for more ordinary stores: to near peers they are
/// faster there up to 12 KiB.
inline constexpr std::uint32_t kStringLeast = 2048, kDeepQueueStringLeast = 12288;

struct Settings {
  static constexpr std::uint32_t kNever = ~std::uint32_t{0};
  Shape shape;
  bool short_laps = false;  ///< half of a window is left alone while its receiver keeps up (window.hpp)
  HugePages huge_pages = HugePages::ordinary;  ///< for cells, where the kernel gives them
  bool cma = true;
  AttachMode attach = AttachMode::any;
  DistanceMode distance = DistanceMode::learnt;
  /// The same for near peers and for far ones; 0: always, as somebody said.
  std::uint32_t near_string_least = kNever, far_string_least = kNever;
  std::uint32_t pio_max = 0;  ///< payload of one record

  /// Whether nobody said how payloads are to be stored.
  bool may_choose_stores() const noexcept {
    return distance == DistanceMode::learnt && near_string_least > 0;
  }
};

/// Errors: invalid, naming variable and value.
Result<Settings> read_settings(const stria_device_params_t& params);

}  // namespace stria::shm
