#include "transport/device_config.hpp"

#include <algorithm>

namespace stria::transport {

Result<Config> read_device_config(Variables variables, const stria_device_params_t& params) {
  Config config({variables});
  if (params.config == nullptr) return config;
  for (const Variable& variable : variables) {
    const char* const text = params.config(params.config_self, variable.name);
    if (text == nullptr || *text == '\0') continue;
    if (auto set = config.set(variable.name, text, "device"); !set) return std::move(set).error();
  }
  return config;
}

const char* config_text(void* config, const char* name) noexcept {
  const VarValue* const value = static_cast<const Config*>(config)->find(name);
  return value == nullptr ? "" : value->text.c_str();
}

std::int64_t config_number(void* config, const char* name) noexcept {
  const VarValue* const value = static_cast<const Config*>(config)->find(name);
  return value == nullptr ? 0 : value->number;
}

std::uint32_t device_count(const stria_provider_t& provider, const Config& config) noexcept {
  if (provider.devices == nullptr) return 1;
  stria_device_params_t params{};
  params.size = sizeof params;
  params.config = config_text;
  params.config_number = config_number;
  params.config_self = const_cast<Config*>(&config);  // read only
  return std::max(provider.devices->count(&params), 1u);
}

}  // namespace stria::transport
