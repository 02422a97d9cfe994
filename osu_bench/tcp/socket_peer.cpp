#include "osu_bench/tcp/socket_peer.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace stria::bench {
namespace {

constexpr int kListener = 1;
constexpr int kTag = 77;
constexpr std::size_t kMost = 16;

/// Where a process listens: at each of its addresses.
struct Place {
  std::array<char, 256> host{};
  std::array<in_addr, kMost> at{};
  std::uint32_t count = 0;
  std::uint16_t port = 0;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

/// The addresses of this host, the loopback's first: a process of the same host connects there.
Place own_place() {
  Place place;
  ::gethostname(place.host.data(), place.host.size() - 1);
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) fail("getifaddrs");
  for (const bool wants_loopback : {true, false}) {
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || place.count == kMost) continue;
      const in_addr address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
      const bool is_loopback = ntohl(address.s_addr) >> 24U == 127;
      if (is_loopback == wants_loopback) place.at[place.count++] = address;
    }
  }
  ::freeifaddrs(all);
  return place;
}

sockaddr_in address_of(in_addr ip, std::uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_addr = ip;
  out.sin_port = port;
  return out;
}

int open_socket() {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) fail("socket");
  return made;
}

}  // namespace

SocketPeer::SocketPeer() {
  if (size() != 2) return;  // the program says so
  rank() == kListener ? accept() : connect();
  const int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

SocketPeer::~SocketPeer() {
  if (socket_ >= 0) ::close(socket_);
}

void SocketPeer::accept() {
  const int door = open_socket();
  sockaddr_in here = address_of({INADDR_ANY}, 0);
  socklen_t bytes = sizeof here;
  auto* const address = reinterpret_cast<sockaddr*>(&here);
  if (::bind(door, address, bytes) != 0 || ::listen(door, 1) != 0 ||
      ::getsockname(door, address, &bytes) != 0)
    fail("listen");
  Place place = own_place();
  place.port = here.sin_port;
  MPI_Send(&place, sizeof place, MPI_BYTE, 1 - kListener, kTag, MPI_COMM_WORLD);
  socket_ = ::accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
  ::close(door);
  if (socket_ < 0) fail("accept");
}

void SocketPeer::connect() {
  Place there;
  MPI_Recv(&there, sizeof there, MPI_BYTE, kListener, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const bool is_same_host = own_place().host == there.host;
  constexpr timeval kPatience{2, 0};  // for an address that answers nothing
  for (std::uint32_t i = 0; i < there.count && socket_ < 0; ++i) {
    const sockaddr_in to = address_of(there.at[i], there.port);
    const bool is_loopback = ntohl(to.sin_addr.s_addr) >> 24U == 127;
    if (is_loopback != is_same_host) continue;
    socket_ = open_socket();
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
      address_ = ::inet_ntoa(to.sin_addr);
    } else {
      ::close(socket_);
      socket_ = -1;
    }
  }
  if (socket_ < 0) fail("no address of the other process answers");
}

void SocketPeer::moved(Part& part, ssize_t bytes) {
  if (bytes > 0) {
    part.at += bytes;
    part.left -= static_cast<std::size_t>(bytes);
  } else if (bytes == 0 || (errno != EAGAIN && errno != EINTR)) {
    fail("the connection has ended");
  }
}

Environment SocketPeer::environment() {
  Environment out = mpi_.environment();
  out.emplace_back("tcp to", address_);
  return out;
}

}  // namespace stria::bench
