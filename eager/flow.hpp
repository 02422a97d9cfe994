// What the eager path keeps of one peer, in both directions: the part of tag's Peer that this room reads and
// changes. The fields are placed so that a send needs the first cache line of the Peer and the beginning of
// the second, and a delivery only the second (tag/peer.hpp).
#pragma once

#include <cstdint>

#include "eager/credit.hpp"
#include "transport/link_ref.hpp"

namespace stria::eager {

struct Flow {
  transport::LinkRef link;
  std::uint64_t credit = kFirstGrant;  ///< payload bytes that may still be sent
  std::uint32_t eager_limit = 0;       ///< a longer message is announced; 0 until the link is up
  /// Sequence numbers of the next message to the peer and from the peer, modulo 2^16. Announcements count,
  /// too.
  std::uint16_t send_sequence = 0;
  std::uint16_t recv_sequence = 0;
  Grant grant;  ///< what the peer may still send
};

}  // namespace stria::eager
