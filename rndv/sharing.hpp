// Whether both sides of a message between mapped memories may copy a part of it each (share.cpp).
#pragma once

#include "rndv/options.hpp"
#include "rndv/stored_key.hpp"
#include "transport/link_ref.hpp"

namespace stria::rndv {

/// Whether both sides may copy, on this link. The receiver's key travels in an RTR, which has to fit the PIO
/// window: in the eager buffers there may be no room, as peers hold them. A long key may not fit the window
/// even so; Acceptor notices that when it has made the key.
inline bool can_share(const Options& options, const transport::LinkRef& link) noexcept {
  return options.shares && link.can_map && !link.offload &&
         link.pio_below > sizeof(wire::RtrBody) + StoredKey::kInside;
}

}  // namespace stria::rndv
