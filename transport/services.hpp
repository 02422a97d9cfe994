// What the worker does for a provider: gathering and scattering described memory, and the log, as the C table
// that every provider is given at open. Providers inside the tree may as well call transport/payload.hpp
// directly.
#pragma once

#include "stria/provider.h"

namespace stria::transport {

/// Copies from.length bytes of one stream to the range of the other that starts at to.offset; to.length is
/// not looked at. The two memories do not overlap.
void copy(const stria_payload_t& from, const stria_payload_t& to) noexcept;

/// The table for stria_device_params_t. Lives as long as the process.
const stria_services_t& services() noexcept;

}  // namespace stria::transport
