// In which order the addresses of a peer are tried.
#pragma once

#include <vector>

#include "transport/tcp/interfaces.hpp"

namespace stria::tcp {

/// Those of a network that this host has an interface in come first, then those that the routing table
/// reaches, then the rest. A loopback address names another host only if `same_network`, and is left out
/// otherwise. The peer's own order stays within each kind.
std::vector<Ip> order_candidates(const std::vector<Ip>& of_peer, const std::vector<OwnAddress>& own,
                                 bool same_network);

}  // namespace stria::tcp
