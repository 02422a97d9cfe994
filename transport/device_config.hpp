// What a device is told of its provider's variables.
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

}  // namespace stria::transport
