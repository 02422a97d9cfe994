// Reads the STRIA_UCT_* variables for one device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "stria/provider.h"
#include "transport/uct/device_list.hpp"

namespace stria::uct {

struct Settings {
  std::string transport;              ///< empty: the provider chooses
  std::string device;                 ///< empty: the provider chooses
  std::uint32_t connect_ms = 120000;  ///< time that a peer has to answer a connection
  bool join_endpoints = false;        ///< join endpoints pairwise also where a transport does not need it
  std::vector<Wanted> list{};  ///< the entries of all uct devices of the worker; this device's is at `index`
  std::uint32_t index = 0;
};

/// The number of devices that STRIA_UCT_TRANSPORT names. 1 when it names none, and also when it is wrong:
/// then read_settings() of that one device returns the error.
std::uint32_t count_devices(const stria_device_params_t& params);

/// Reads the settings of the device with the index params.device. Errors: invalid; the text names variable
/// and value.
Result<Settings> read_settings(const stria_device_params_t& params);

}  // namespace stria::uct
