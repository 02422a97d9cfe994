// Packets that UCX sends out of the caller's memory.
#pragma once

#include "transport/contract.hpp"
#include "transport/uct/shared.hpp"

namespace stria::uct {

class Link;

/// The contract's zcopy_send, of a payload that is worth it.
Status send_out_of_memory(const Shared& shared, Link& link, const transport::Header& header,
                          const transport::Payload& payload, transport::Completion* completion) noexcept;

}  // namespace stria::uct
