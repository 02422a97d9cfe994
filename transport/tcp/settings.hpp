// The configuration of a device, read once when the device is opened.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "stria/provider.h"
#include "transport/tcp/interfaces.hpp"

namespace stria::tcp {

/// How a device without traffic notices that something has come, and what moves long messages.
enum class Engine { automatic, uring, epoll };

struct Settings {
  InterfaceChoice interfaces;
  PortRange ports;
  Engine engine = Engine::automatic;
  std::uint32_t connect_ms = 0;  ///< time that a peer has to answer a connection
  std::uint32_t silent_ms = 0;   ///< longest time in which a peer's system acknowledges nothing
  std::uint32_t lanes = 1;       ///< bulk connections by each route to a peer
  std::uint32_t eager_max = 0;   ///< longest payload of one packet, in bytes
  bool retains = true;  ///< sent bytes are kept until they are acknowledged, to be repeated after a reset
};
Result<Settings> read_settings(const stria_device_params_t& params);

}  // namespace stria::tcp
