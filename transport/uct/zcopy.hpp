// Packets that UCX sends out of the caller's memory.
#pragma once

#include "transport/contract.hpp"
#include "transport/uct/shared.hpp"

namespace stria::uct {

class Link;

/// Sends a payload out of the caller's memory (zcopy_send of the provider contract). The caller has decided
/// that the payload is long enough for it to pay.
Status send_out_of_memory(const Shared& shared, Link& link, const transport::Header& header,
                          const transport::Payload& payload, transport::Completion* completion) noexcept;

}  // namespace stria::uct
