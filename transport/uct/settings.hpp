// The STRIA_UCT_* variables of one device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "stria/provider.h"
#include "transport/uct/device_list.hpp"

namespace stria::uct {

struct Settings {
  std::string transport;  ///< empty: the provider chooses
  std::string device;     ///< empty: the provider chooses
  std::uint32_t connect_ms = 120000;
  bool join_endpoints = false;
  std::vector<Wanted> list{};  ///< of all devices of the worker; this one's entry is at `index`
  std::uint32_t index = 0;
};

/// How many devices STRIA_UCT_TRANSPORT names; 1 when it names none, or is wrong, which read_settings says.
std::uint32_t count_devices(const stria_device_params_t& params);

/// Of the device of index params.device. Errors: invalid, naming variable and value.
Result<Settings> read_settings(const stria_device_params_t& params);

}  // namespace stria::uct
