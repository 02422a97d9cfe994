// One way to a peer.
#pragma once

#include <optional>

#include "transport/tcp/ip.hpp"

namespace stria::tcp {

struct Route {
  Ip to;
  /// The address of this host that the connection is to have; without one the system chooses.
  std::optional<Ip> from = {};
};

}  // namespace stria::tcp
