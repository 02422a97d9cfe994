#include "transport/tcp/socket.hpp"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/format.hpp"
#include "base/system.hpp"

namespace stria::tcp {
namespace {

constexpr int kBacklog = 4096;  // the kernel lowers it to net.core.somaxconn

/// Raises the process's limit of descriptors to the highest that the process may set. False: it was there, or
/// the system refuses.
bool raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/// The descriptor that `make` makes. If the process has none left, raises the limit and tries again.
template <class Make>
UniqueFd made_by(Make&& make) noexcept {
  UniqueFd out(make());
  if (!out && errno == EMFILE && raise_descriptor_limit()) out.reset(make());
  return out;
}

UniqueFd tcp_socket(bool v6) noexcept {
  return made_by(
      [=] { return ::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
}

void set(const UniqueFd& socket, int level, int option, int value) noexcept {
  static_cast<void>(::setsockopt(socket.get(), level, option, &value, sizeof value));
}

/// Has messages sent at once (no Nagle's algorithm).
void prepare(const UniqueFd& socket) noexcept {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

/// Gives a socket an address of this host, and any port. False: the system refuses.
bool bind_to(const UniqueFd& socket, const Ip& ip) noexcept {
  // The system finds the port in connect(), where it has to be free for this peer alone.
  set(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  const SocketAddress own(ip, 0);
  return ::bind(socket.get(), own.get(), own.bytes()) == 0;
}

UniqueFd listen_at(bool v6, std::uint16_t port) noexcept {
  UniqueFd door = tcp_socket(v6);
  if (!door) return door;
  if (v6) set(door, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(port);
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = htons(port);
  const auto* address =
      v6 ? reinterpret_cast<const sockaddr*>(&any6) : reinterpret_cast<const sockaddr*>(&any4);
  if (::bind(door.get(), address, v6 ? sizeof any6 : sizeof any4) != 0 || ::listen(door.get(), kBacklog) != 0)
    door.reset();
  return door;
}

std::uint16_t port_of(const UniqueFd& door) noexcept {
  sockaddr_in6 address{};  // sin6_port lies where sin_port of sockaddr_in does
  socklen_t bytes = sizeof address;
  if (::getsockname(door.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return 0;
  return ntohs(address.sin6_port);
}

bool has_v6() noexcept {
  static const bool has = static_cast<bool>(tcp_socket(true));
  return has;
}

}  // namespace

Result<UniqueFd> listen_on(const PortRange& ports, std::uint16_t& port) {
  const unsigned count = static_cast<unsigned>(ports.last - ports.first) + 1;
  // Processes of a host begin at different places of the range.
  const auto begin = static_cast<unsigned>(random_word() % count);
  for (unsigned i = 0; i < count; ++i) {
    const auto wanted = static_cast<std::uint16_t>(ports.first + (begin + i) % count);
    UniqueFd door = listen_at(has_v6(), wanted);
    if (!door && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) door = listen_at(false, wanted);
    if (door) {
      port = port_of(door);
      return door;
    }
    if (errno != EADDRINUSE) break;
  }
  return Error{Status::io_error,
               ports.first == 0 ? fmt::format("tcp: cannot listen: {}", std::strerror(errno))
                                : fmt::format("tcp: cannot listen on a port of STRIA_TCP_PORTS={}-{}: {}",
                                              ports.first, ports.last, std::strerror(errno))};
}

UniqueFd begin_connection(const Route& route, std::uint16_t port) noexcept {
  UniqueFd socket = tcp_socket(route.to.is_v6());
  if (!socket) return socket;
  prepare(socket);
  const SocketAddress to(route.to, port);
  const bool is_bound = !route.from || bind_to(socket, *route.from);
  if (!is_bound ||
      (::connect(socket.get(), to.get(), to.bytes()) != 0 && errno != EINPROGRESS && errno != EINTR)) {
    const int why = errno;
    socket.reset();
    errno = why;
  }
  return socket;
}

UniqueFd accept_connection(const UniqueFd& door) noexcept {
  UniqueFd socket =
      made_by([&] { return ::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
  if (socket) prepare(socket);
  return socket;
}

Ip peer_of(const UniqueFd& socket) noexcept {
  sockaddr_storage peer{};
  socklen_t bytes = sizeof peer;
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer), &bytes) != 0) return {};
  return Ip::of(reinterpret_cast<const sockaddr*>(&peer)).value_or(Ip());
}

bool lacks_descriptor(int error) noexcept {
  return error == EMFILE || error == ENFILE;
}

bool is_full(int error) noexcept {
  return error == EAGAIN || error == EINTR || error == ENOBUFS || error == ENOMEM;
}

bool is_dry(int error) noexcept {
  return error == EAGAIN || error == EINTR || error == ENOMEM;
}

int error_of(const UniqueFd& socket) noexcept {
  int error = 0;
  socklen_t bytes = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : 0;
}

bool is_reset(int error) noexcept {
  return error == ECONNRESET || error == ECONNABORTED || error == ENETRESET;
}

bool is_silence(int error) noexcept {
  return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH;
}

bool is_end(int error) noexcept {
  return is_reset(error) || is_silence(error) || error == 0 || error == EPIPE || error == ENOTCONN;
}

std::size_t unacknowledged(const UniqueFd& socket) noexcept {
  int bytes = 0;
  return ::ioctl(socket.get(), SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

std::uint32_t round_trip_us(const UniqueFd& socket) noexcept {
  constexpr std::uint32_t kMost = 1000 * 1000;
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return 0;
  return info.tcpi_rtt < kMost ? info.tcpi_rtt : 0;
}

Moved Transfer::after(ssize_t bytes, std::size_t all) noexcept {
  if (bytes == 0) return Moved::ended;
  if (bytes < 0) return errno == EAGAIN || errno == EINTR || errno == ENOTCONN ? Moved::some : Moved::ended;
  moved_ += static_cast<std::size_t>(bytes);
  return moved_ == all ? Moved::all : Moved::some;
}

Moved Transfer::send(const UniqueFd& socket, std::span<const std::byte> message) noexcept {
  if (moved_ == message.size()) return Moved::all;
  return after(::send(socket.get(), message.data() + moved_, message.size() - moved_, MSG_NOSIGNAL),
               message.size());
}

Moved Transfer::receive(const UniqueFd& socket, std::span<std::byte> message) noexcept {
  if (moved_ == message.size()) return Moved::all;
  return after(::recv(socket.get(), message.data() + moved_, message.size() - moved_, 0), message.size());
}

}  // namespace stria::tcp
