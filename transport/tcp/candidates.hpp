// By which ways a peer is connected to: which of its addresses, and from which of this host.
#pragma once

#include <vector>

#include "transport/tcp/interfaces.hpp"
#include "transport/tcp/route.hpp"

namespace stria::tcp {

/// The addresses of a peer in the order in which they are tried. Those of a network that this host has an
/// interface in come first, then those that the routing table reaches, then the rest. A loopback address
/// names another host only if `same_network`, and is left out otherwise. The peer's own order stays within
/// each kind.
std::vector<Route> order_candidates(const std::vector<Ip>& of_peer, const std::vector<OwnAddress>& own,
                                    bool same_network);

/// The ways of bulk connections to a peer that has answered at `first`: that one, and one more for each other
/// interface of this host that is in one network with the peer and about as fast (interface_speed()): of a
/// message each carries as many bytes. `own`: the addresses that may be used.
std::vector<Route> bulk_routes(const std::vector<Ip>& of_peer, const Ip& first,
                               const std::vector<OwnAddress>& own);

/// Both speeds are unknown, or neither is more than one and a half times the other.
bool are_alike(std::uint32_t one, std::uint32_t other) noexcept;

}  // namespace stria::tcp
