#include "transport/tcp/settings.hpp"

#include <utility>

#include "base/config.hpp"
#include "transport/device_config.hpp"
#include "transport/tcp/variables.hpp"

namespace stria::tcp {

Result<Settings> read_settings(const stria_device_params_t& params) {
  auto read = transport::read_device_config(kVariables, params);
  if (!read) return std::move(read).error();
  const Config config = *std::move(read);
  Settings out;
  auto interfaces = InterfaceChoice::parse(config.text("STRIA_TCP_INTERFACES"));
  if (!interfaces) return std::move(interfaces).error();
  out.interfaces = *std::move(interfaces);
  const auto ports = PortRange::parse(config.text("STRIA_TCP_PORTS"));
  if (!ports) return ports.error();
  out.ports = *ports;
  out.connect_ms = static_cast<std::uint32_t>(config.number("STRIA_TCP_CONNECT_MS"));
  out.eager_max = static_cast<std::uint32_t>(config.number("STRIA_TCP_EAGER_BYTES"));
  out.lanes = static_cast<std::uint32_t>(config.number("STRIA_TCP_BULK_CONNECTIONS"));
  return out;
}

}  // namespace stria::tcp
