#include "transport/tcp/candidates.hpp"

#include <sys/socket.h>

#include <algorithm>

#include "base/fd.hpp"

namespace stria::tcp {
namespace {

/// Connecting a datagram socket asks the routing table and sends nothing.
bool has_route(const Ip& ip) noexcept {
  const UniqueFd probe(::socket(ip.is_v6() ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress to(ip, 9);
  return probe && ::connect(probe.get(), to.get(), to.bytes()) == 0;
}

}  // namespace

std::vector<Ip> order_candidates(const std::vector<Ip>& of_peer, const std::vector<OwnAddress>& own,
                                 bool same_network) {
  std::vector<Ip> near, routed, rest;
  for (const Ip& ip : of_peer) {
    if (ip.is_loopback() && !same_network) continue;
    const bool is_near =
        std::any_of(own.begin(), own.end(), [&](const OwnAddress& one) { return one.network.holds(ip); });
    (is_near ? near : has_route(ip) ? routed : rest).push_back(ip);
  }
  near.insert(near.end(), routed.begin(), routed.end());
  near.insert(near.end(), rest.begin(), rest.end());
  return near;
}

}  // namespace stria::tcp
