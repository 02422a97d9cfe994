// The STRIA_SHM_* variables of one device, checked against each other.
#pragma once

#include "base/result.hpp"
#include "stria/provider.h"
#include "transport/shm/segment.hpp"

namespace stria::shm {

enum class AttachMode : std::uint8_t { any, proc, socket };

enum class DistanceMode : std::uint8_t { learnt, near, far };

/// When contiguous bytes are stored to cells by the string instruction (hw/string_copy.hpp).
enum class StringMode : std::uint8_t { where_it_gains, always, never };

struct Settings {
  Shape shape;
  bool cma = true;
  AttachMode attach = AttachMode::any;
  DistanceMode distance = DistanceMode::learnt;
  StringMode strings = StringMode::never;
  std::uint32_t near_string_least = 0;  ///< payloads from which on it gains between near caches, bytes
  std::uint32_t pio_max = 0;            ///< payload of one record

  /// Whether nobody said how payloads are to be stored.
  bool may_choose_stores() const noexcept {
    return distance == DistanceMode::learnt && strings != StringMode::always;
  }
};

/// Errors: invalid, naming variable and value.
Result<Settings> read_settings(const stria_device_params_t& params);

}  // namespace stria::shm
