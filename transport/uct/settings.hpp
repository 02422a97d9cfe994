// The STRIA_UCT_* variables of one device.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "stria/provider.h"

namespace stria::uct {

struct Settings {
  std::string transport;  ///< empty: the provider chooses
  std::string device;     ///< empty: the provider chooses
  std::uint32_t connect_ms = 120000;
  bool join_endpoints = false;
};

/// Errors: invalid, naming variable and value.
Result<Settings> read_settings(const stria_device_params_t& params);

}  // namespace stria::uct
