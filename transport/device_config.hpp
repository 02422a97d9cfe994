// Gives a device the values of its provider's variables, and asks a provider how many devices they want.
#pragma once

#include "base/config.hpp"
#include "stria/provider.h"

namespace stria::transport {

/// Reads the values of `variables` from `params`. A variable for which `params` has no text has its default.
/// Error: a malformed value; the text names the variable.
Result<Config> read_device_config(Variables variables, const stria_device_params_t& params);

/// For a stria_device_params_t whose config_self points to a Config: its `config` and `config_number`.
const char* config_text(void* config, const char* name) noexcept;
std::int64_t config_number(void* config, const char* name) noexcept;

/// How many devices of the provider a worker with this configuration opens; at least 1.
std::uint32_t device_count(const stria_provider_t& provider, const Config& config) noexcept;

}  // namespace stria::transport
