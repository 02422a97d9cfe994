#include "transport/uct/tcp.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/format.hpp"

namespace stria::uct {
namespace {

constexpr std::size_t kHostsMost = 6;
constexpr int kBacklog = 1024;

/// The IPv4 addresses of this host; loopback addresses only if there are no others.
std::vector<std::uint32_t> own_hosts() {
  std::vector<std::uint32_t> out, loopback;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return out;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_UP) == 0)
      continue;
    sockaddr_in address{};
    std::memcpy(&address, one->ifa_addr, sizeof address);
    ((one->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : out).push_back(address.sin_addr.s_addr);
  }
  ::freeifaddrs(list);
  if (out.empty()) out = std::move(loopback);
  out.resize(std::min(out.size(), kHostsMost));
  return out;
}

UniqueFd tcp_socket() noexcept {
  return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

sockaddr_in address_of(std::uint32_t host, std::uint16_t port) noexcept {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr.s_addr = host;
  out.sin_port = port;
  return out;
}

/// The progress of a transfer after a call of send() or recv() that returned `bytes`.
Moved after(ssize_t bytes, std::size_t& moved, std::size_t all) noexcept {
  if (bytes == 0) return Moved::broken;
  if (bytes < 0) return errno == EAGAIN || errno == EINTR ? Moved::some : Moved::broken;
  moved += static_cast<std::size_t>(bytes);
  return moved == all ? Moved::all : Moved::some;
}

}  // namespace

Result<UniqueFd> listen_for_peers(TcpPlace& place) {
  UniqueFd door = tcp_socket();
  sockaddr_in address = address_of(htonl(INADDR_ANY), 0);
  socklen_t bytes = sizeof address;
  if (!door || ::bind(door.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(door.get(), kBacklog) != 0 ||
      ::getsockname(door.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0)
    return Error{Status::io_error,
                 fmt::format("uct: cannot listen on a TCP socket, by which peers join their endpoints: {}",
                             std::strerror(errno))};
  place = {address.sin_port, own_hosts()};
  if (place.hosts.empty())
    return Error{Status::unsupported,
                 "uct: this host has no IPv4 address, by which peers could join their endpoints"};
  return door;
}

UniqueFd begin_connection(std::uint32_t host, std::uint16_t port) noexcept {
  UniqueFd socket = tcp_socket();
  if (!socket) return socket;
  const int one = 1;
  static_cast<void>(::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one));
  const sockaddr_in address = address_of(host, port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS && errno != EINTR)
    socket.reset();
  return socket;
}

UniqueFd accept_connection(const UniqueFd& door) noexcept {
  return UniqueFd(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool is_open(const UniqueFd& socket) noexcept {
  std::byte one{};
  return socket && ::recv(socket.get(), &one, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

Moved Transfer::send(const UniqueFd& socket, const void* message, std::size_t bytes) noexcept {
  if (moved_ == bytes) return Moved::all;
  return after(
      ::send(socket.get(), static_cast<const std::byte*>(message) + moved_, bytes - moved_, MSG_NOSIGNAL),
      moved_, bytes);
}

Moved Transfer::receive(const UniqueFd& socket, void* message, std::size_t bytes) noexcept {
  if (moved_ == bytes) return Moved::all;
  return after(::recv(socket.get(), static_cast<std::byte*>(message) + moved_, bytes - moved_, 0), moved_,
               bytes);
}

}  // namespace stria::uct
