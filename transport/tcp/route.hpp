// One way to a peer.
#pragma once

#include <optional>

#include "transport/tcp/ip.hpp"

namespace stria::tcp {

struct Route {
  Ip to;
  std::optional<Ip> from =
      {};  ///< the address of this host that the connection is to have; else the system's choice
};

}  // namespace stria::tcp
