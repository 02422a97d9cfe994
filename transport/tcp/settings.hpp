// What the configuration says, read once when a device is opened.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "stria/provider.h"
#include "transport/tcp/interfaces.hpp"

namespace stria::tcp {

/// The means by which a device without traffic learns that something has come, and long messages move.
enum class Engine { automatic, uring, epoll };

struct Settings {
  InterfaceChoice interfaces;
  PortRange ports;
  Engine engine = Engine::automatic;
  std::uint32_t connect_ms = 0;
  std::uint32_t silent_ms = 0;
  std::uint32_t lanes = 1;  ///< bulk connections
  std::uint32_t eager_max = 0;
  bool retains = true;  ///< what is not acknowledged, to repeat it
};
Result<Settings> read_settings(const stria_device_params_t& params);

}  // namespace stria::tcp
