#include "transport/uct/settings.hpp"

#include <utility>

#include "base/config.hpp"
#include "transport/device_config.hpp"
#include "transport/uct/variables.hpp"

namespace stria::uct {

Result<Settings> read_settings(const stria_device_params_t& params) {
  auto read = transport::read_device_config(kVariables, params);
  if (!read) return std::move(read).error();
  const Config config = *std::move(read);
  Settings out;
  out.transport = config.text("STRIA_UCT_TRANSPORT");
  out.device = config.text("STRIA_UCT_DEVICE");
  out.connect_ms = static_cast<std::uint32_t>(config.number("STRIA_UCT_CONNECT_MS"));
  out.join_endpoints = config.number("STRIA_UCT_JOIN_ENDPOINTS") != 0;
  return out;
}

}  // namespace stria::uct
