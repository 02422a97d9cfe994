// Derives what a device can do from three sources: the groups of its provider's table, what the device says
// that it lacks of these, and the facts that it states. The bits of STRIA_CAP_* that follow from functions
// are set here and nowhere else.
#pragma once

#include "transport/contract.hpp"

namespace stria::transport {

/// The STRIA_CAP_* bits that follow from the core of a provider's table and from the groups that it declares.
std::uint64_t table_bits(const stria_provider_t& table) noexcept;

/// What the device can do. `flags` has all bits, `lacks` is 0, and the numbers for abilities that the device
/// lacks are 0.
Capabilities capabilities_of(const stria_provider_t& table, stria_device_t* device) noexcept;

}  // namespace stria::transport
