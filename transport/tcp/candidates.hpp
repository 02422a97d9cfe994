// Chooses the ways to a peer: to which of its addresses, and from which of this host's.
#pragma once

#include <vector>

#include "transport/tcp/interfaces.hpp"
#include "transport/tcp/route.hpp"

namespace stria::tcp {

/// Puts the addresses of a peer in the order in which they are tried: first those of a network that this host
/// has an interface in (`own`), then those that the routing table reaches, then the rest. Addresses of one
/// kind stay in the peer's order. A loopback address leads to the peer only in a common network namespace
/// (`same_network`), and is left out otherwise.
std::vector<Route> order_candidates(const std::vector<Ip>& of_peer, const std::vector<OwnAddress>& own,
                                    bool same_network);

/// The ways of bulk connections to a peer that was reached at `first`: the way to `first`, and one more for
/// each other interface of this host that is in one network with the peer and about as fast (are_alike()),
/// since each carries about as many bytes of a message. `own`: the addresses of this host that may be used.
std::vector<Route> bulk_routes(const std::vector<Ip>& of_peer, const Ip& first,
                               const std::vector<OwnAddress>& own);

/// Whether two answers of interface_speed() are alike: both unknown, or neither more than one and a half
/// times the other.
bool are_alike(std::uint32_t one, std::uint32_t other) noexcept;

}  // namespace stria::tcp
