// What a device can do, put together from the three things that say it: the groups of its provider's table,
// what the device lacks of them, and the facts that it states. The bits of STRIA_CAP_* that follow from
// functions are set here and nowhere else.
#pragma once

#include "transport/contract.hpp"

namespace stria::transport {

/// The bits that follow from a table: of its core and of the groups that it declares.
std::uint64_t table_bits(const stria_provider_t& table) noexcept;

/// `flags` has all bits, `lacks` is 0, and numbers of what the device lacks are 0.
Capabilities capabilities_of(const stria_provider_t& table, stria_device_t* device) noexcept;

}  // namespace stria::transport
