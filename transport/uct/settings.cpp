#include "transport/uct/settings.hpp"

#include <utility>

#include "base/config.hpp"
#include "base/format.hpp"
#include "transport/device_config.hpp"
#include "transport/uct/variables.hpp"

namespace stria::uct {
namespace {

constexpr const char* kTransports = "STRIA_UCT_TRANSPORT";
constexpr const char* kDevice = "STRIA_UCT_DEVICE";

}  // namespace

std::uint32_t count_devices(const stria_device_params_t& params) {
  const auto text = [&params](const char* name) {
    const char* const given = params.config == nullptr ? nullptr : params.config(params.config_self, name);
    return given == nullptr ? "" : given;
  };
  const auto list = read_device_list(text(kTransports), text(kDevice));
  return list ? static_cast<std::uint32_t>(list->size()) : 1;
}

Result<Settings> read_settings(const stria_device_params_t& params) {
  auto read = transport::read_device_config(kVariables, params);
  if (!read) return std::move(read).error();
  const Config config = *std::move(read);
  Settings out;
  auto list = read_device_list(config.text(kTransports), config.text(kDevice));
  if (!list) return std::move(list).error();
  if (params.device >= list->size())
    return Error{Status::invalid,
                 fmt::format("uct: {}={} names {} devices, there is none of index {}", kTransports,
                             config.text(kTransports), list->size(), params.device)};
  out.list = *std::move(list);
  out.index = params.device;
  out.transport = out.list[out.index].transport;
  out.device = out.list[out.index].device;
  out.connect_ms = static_cast<std::uint32_t>(config.number("STRIA_UCT_CONNECT_MS"));
  out.join_endpoints = config.number("STRIA_UCT_JOIN_ENDPOINTS") != 0;
  return out;
}

}  // namespace stria::uct
