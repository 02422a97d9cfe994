// Whether both sides of a message may copy a part of it each (share.cpp).
#pragma once

#include "rndv/options.hpp"
#include "rndv/stored_key.hpp"
#include "transport/link_ref.hpp"

namespace stria::rndv {

/// The receiver's key travels in an RTR, which has to go by the window: beside others' memory there may be no
/// room. A long one may not fit there even so, as Acceptor notices when it has made it. `mapped`: both keys
/// are to memory that the peer maps.
inline bool can_share(const Options& options, const transport::LinkRef& link, bool mapped) noexcept {
  return options.shares && (link.can_put || mapped) && !link.offload &&
         link.pio_below > sizeof(wire::RtrBody) + StoredKey::kInside;
}

}  // namespace stria::rndv
