#include "transport/tcp/settings.hpp"

#include <utility>

#include "base/config.hpp"
#include "transport/device_config.hpp"
#include "transport/tcp/variables.hpp"

namespace stria::tcp {
namespace {

Engine engine_of(const Config& config) {
  const std::string_view name = config.text("STRIA_TCP_ENGINE");
  if (name == "uring") return Engine::uring;
  return name == "epoll" ? Engine::epoll : Engine::automatic;
}

}  // namespace

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
  out.engine = engine_of(config);
  out.connect_ms = static_cast<std::uint32_t>(config.number("STRIA_TCP_CONNECT_MS"));
  out.silent_ms = static_cast<std::uint32_t>(config.number("STRIA_TCP_SILENT_MS"));
  out.eager_max = static_cast<std::uint32_t>(config.number("STRIA_TCP_EAGER_BYTES"));
  out.retains = config.text("STRIA_TCP_RETAIN") == "on";
  out.lanes = static_cast<std::uint32_t>(config.number("STRIA_TCP_BULK_CONNECTIONS"));
  return out;
}

}  // namespace stria::tcp
