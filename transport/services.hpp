// The services of the worker for a provider, as the C table that every provider is given at open: to gather
// and scatter described memory, to write to the log, and to watch for memory that goes away. Providers inside
// the tree may also call transport/payload.hpp directly.
#pragma once

#include "stria/provider.h"

namespace stria::transport {

/// Copies the first `bytes` bytes of the range `from` to the range `to`; their lengths are not looked at. The
/// two memories do not overlap, and are in no other core's cache.
void copy(const stria_payload_t& from, const stria_payload_t& to, int64_t bytes) noexcept;

/// The table for stria_device_params_t. Lives as long as the process.
const stria_services_t& services() noexcept;

}  // namespace stria::transport
