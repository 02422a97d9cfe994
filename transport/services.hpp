// What the worker does for a provider: gathering and scattering described memory, and the log, as the C table
// that every provider is given at open. Providers inside the tree may as well call transport/payload.hpp
// directly.
#pragma once

#include "stria/provider.h"

namespace stria::transport {

/// Copies the first `bytes` of one range to the other, whatever their lengths are. The two memories do not
/// overlap, and no other core has them.
void copy(const stria_payload_t& from, const stria_payload_t& to, int64_t bytes) noexcept;

/// The table for stria_device_params_t. Lives as long as the process.
const stria_services_t& services() noexcept;

}  // namespace stria::transport
