// C++ names for the types of the provider contract (stria/provider.h). groups.hpp has the contract as
// concepts, provider_table.hpp the tables that are generated from a provider's classes, hot_ops.hpp what the
// engines call.
#pragma once

#include "base/status.hpp"
#include "datatype/layout.hpp"
#include "stria/provider.h"
#include "stria/provider_coresident.h"

namespace stria::transport {

using Atomic = stria_remote_atomic_t;
using Capabilities = stria_capabilities_t;
using Completion = stria_completion_t;
using DeviceParams = stria_device_params_t;
using Header = stria_header_t;
using Key = stria_provider_key_t;
using LinkLimits = stria_link_limits_t;
using Packet = stria_packet_t;
using Payload = stria_payload_t;
using Sink = stria_sink_t;

constexpr stria_status_t to_c(Status status) noexcept {
  return static_cast<stria_status_t>(static_cast<int>(status));
}
constexpr Status from_c(stria_status_t status) noexcept {
  return static_cast<Status>(static_cast<int>(status));
}

/// The layout behind a payload; null for contiguous memory.
inline const datatype::Layout* layout_of(const Payload& payload) noexcept {
  return static_cast<const datatype::Layout*>(payload.layout);
}

}  // namespace stria::transport
