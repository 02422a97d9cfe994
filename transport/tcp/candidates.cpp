#include "transport/tcp/candidates.hpp"

#include <sys/socket.h>

#include <algorithm>

#include "base/fd.hpp"

namespace stria::tcp {
namespace {

/// Whether the routing table has a way to `ip`: connecting a datagram socket asks it, and sends nothing.
bool has_route(const Ip& ip) noexcept {
  const UniqueFd probe(::socket(ip.is_v6() ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress to(ip, 9);
  return probe && ::connect(probe.get(), to.get(), to.bytes()) == 0;
}

}  // namespace

std::vector<Route> order_candidates(const std::vector<Ip>& of_peer, const std::vector<OwnAddress>& own,
                                    bool same_network) {
  std::vector<Route> near, routed, rest;
  for (const Ip& ip : of_peer) {
    if (ip.is_loopback() && !same_network) continue;
    const bool is_near =
        std::any_of(own.begin(), own.end(), [&](const OwnAddress& one) { return one.network.holds(ip); });
    (is_near ? near : has_route(ip) ? routed : rest).push_back({ip});
  }
  near.insert(near.end(), routed.begin(), routed.end());
  near.insert(near.end(), rest.begin(), rest.end());
  return near;
}

bool are_alike(std::uint32_t one, std::uint32_t other) noexcept {
  return 3 * std::uint64_t{one} >= 2 * std::uint64_t{other} &&
         3 * std::uint64_t{other} >= 2 * std::uint64_t{one};
}

std::vector<Route> bulk_routes(const std::vector<Ip>& of_peer, const Ip& first,
                               const std::vector<OwnAddress>& own) {
  std::vector<Route> out{{first}};
  const auto used =
      std::find_if(own.begin(), own.end(), [&](const OwnAddress& one) { return one.network.holds(first); });
  if (first.is_loopback() || used == own.end()) return out;
  std::vector<std::string> interfaces{used->interface};
  const std::uint32_t speed = interface_speed(used->interface);
  for (const OwnAddress& one : own) {
    if (std::find(interfaces.begin(), interfaces.end(), one.interface) != interfaces.end()) continue;
    const auto ip = std::find_if(of_peer.begin(), of_peer.end(), [&](const Ip& other) {
      const bool is_taken =
          std::any_of(out.begin(), out.end(), [&](const Route& route) { return route.to == other; });
      return !is_taken && one.network.holds(other) && !other.is_loopback() && other != one.network.ip;
    });
    if (ip == of_peer.end() || !are_alike(speed, interface_speed(one.interface))) continue;
    interfaces.push_back(one.interface);
    out.push_back({*ip, one.network.ip});
  }
  return out;
}

}  // namespace stria::tcp
