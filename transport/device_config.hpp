// What a device is told of its provider's variables, and how many devices they ask for.
#pragma once

#include "base/config.hpp"
#include "stria/provider.h"

namespace stria::transport {

/// The values of `variables` as `params` gives them; the default of a variable of which it gives nothing.
/// Error: a malformed value, which names the variable.
Result<Config> read_device_config(Variables variables, const stria_device_params_t& params);

/// For stria_device_params_t: answer from the Config that config_self points to.
const char* config_text(void* config, const char* name) noexcept;
std::int64_t config_number(void* config, const char* name) noexcept;

/// How many devices of the provider a worker with this configuration opens; at least 1.
std::uint32_t device_count(const stria_provider_t& provider, const Config& config) noexcept;

}  // namespace stria::transport
