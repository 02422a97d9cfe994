// The TCP connections of this process, by the network interface that they use: what went by each, and cutting
// them. Both ends of a connection between two workers of one process are among them.
#pragma once

#include <ifaddrs.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace stria::uct {

/// An interface that is up, and its IPv4 address.
struct NetworkInterface {
  std::string name;
  in_addr address{};
  bool is_loopback = false;
};

inline std::vector<NetworkInterface> network_interfaces() {
  std::vector<NetworkInterface> out;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return out;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_RUNNING) == 0) continue;
    sockaddr_in address{};
    std::memcpy(&address, one->ifa_addr, sizeof address);
    out.push_back({one->ifa_name, address.sin_addr, (one->ifa_flags & IFF_LOOPBACK) != 0});
  }
  ::freeifaddrs(list);
  return out;
}

/// Sockets that are connected, and whose end here has this address.
inline std::vector<int> connections_at(in_addr address) {
  std::vector<int> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    sockaddr_in own{}, other{};
    socklen_t own_bytes = sizeof own, other_bytes = sizeof other;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_bytes) == 0 && own.sin_family == AF_INET &&
        own.sin_addr.s_addr == address.s_addr &&
        ::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_bytes) == 0)
      out.push_back(fd);
  }
  return out;
}

/// Bytes that were sent by the ends of connections that have this address.
inline std::uint64_t bytes_sent_at(in_addr address) {
  std::uint64_t all = 0;
  for (const int fd : connections_at(address)) {
    tcp_info info{};
    socklen_t bytes = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0)
      all += info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
  }
  return all;
}

/// Both ends find that their connection has ended. Returns how many ends there were.
inline std::size_t cut_connections_at(in_addr address) {
  const std::vector<int> all = connections_at(address);
  for (const int fd : all) ::shutdown(fd, SHUT_RDWR);
  return all.size();
}

}  // namespace stria::uct
