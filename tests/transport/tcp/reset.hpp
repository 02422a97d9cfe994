// The TCP connections of this process, and how one is reset while both its ends live: as by a firewall that
// has forgotten it. The kernel resets a connection by sock_diag(7); a process needs CAP_NET_ADMIN for it.
#pragma once

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/fd.hpp"
#include "transport/tcp/ip.hpp"

namespace stria::tcp {

/// The descriptors of all TCP connections of this process; of one within the process, both ends.
inline std::vector<int> connections_of_this_process() {
  constexpr int kDescriptors = 256;
  std::vector<int> out;
  for (int fd = 3; fd < kDescriptors; ++fd) {
    sockaddr_storage peer{};
    socklen_t bytes = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0 &&
        (peer.ss_family == AF_INET || peer.ss_family == AF_INET6))
      out.push_back(fd);
  }
  return out;
}

/// The port of the far end.
inline std::uint16_t peer_port_of(int fd) {
  sockaddr_in6 peer{};
  socklen_t bytes = sizeof peer;
  ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes);
  return ntohs(peer.sin6_port);
}

/// An end of a connection, as the kernel names it. Addresses of IPv4 in an IPv6 socket are those of IPv4.
inline Ip name_end(const sockaddr_in6& end, std::uint32_t* address, std::uint16_t& port) {
  const Ip ip = Ip::of(reinterpret_cast<const sockaddr*>(&end)).value();
  std::memcpy(address, ip.bytes().data(), ip.bytes().size());
  port = end.sin6_port;
  return ip;
}

/// Resets the connection: this end hears ECONNABORTED, and the far end ECONNRESET. 0, or the error.
/// The kernel is given the socket's cookie: a thread may close the connection meanwhile, and by addresses
/// alone the kernel would find, and end, the socket that listens at the port.
inline int reset_connection(int fd) {
  std::uint64_t cookie = 0;
  socklen_t cookie_bytes = sizeof cookie;
  if (::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &cookie_bytes) != 0) return errno;
  struct {
    nlmsghdr head;
    inet_diag_req_v2 request;
  } message{};
  sockaddr_in6 here{}, there{};
  socklen_t bytes = sizeof here;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &bytes) != 0) return errno;
  bytes = sizeof there;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &bytes) != 0) return errno;
  message.head.nlmsg_len = sizeof message;
  message.head.nlmsg_type = SOCK_DESTROY;
  message.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  inet_diag_req_v2& request = message.request;
  request.sdiag_protocol = IPPROTO_TCP;
  request.idiag_states = ~0u;
  const Ip own = name_end(here, request.id.idiag_src, request.id.idiag_sport);
  name_end(there, request.id.idiag_dst, request.id.idiag_dport);
  request.sdiag_family = own.is_v6() ? AF_INET6 : AF_INET;
  request.id.idiag_cookie[0] = static_cast<std::uint32_t>(cookie);
  request.id.idiag_cookie[1] = static_cast<std::uint32_t>(cookie >> 32);
  const UniqueFd kernel(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!kernel || ::send(kernel.get(), &message, sizeof message, 0) < 0) return errno;
  struct {
    nlmsghdr head;
    nlmsgerr error;
    std::byte rest[512];
  } answer{};
  if (::recv(kernel.get(), &answer, sizeof answer, 0) < 0) return errno;
  return answer.head.nlmsg_type == NLMSG_ERROR ? -answer.error.error : EPROTO;
}

}  // namespace stria::tcp
