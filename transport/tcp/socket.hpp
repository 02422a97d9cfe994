// TCP sockets that never block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "transport/tcp/interfaces.hpp"
#include "transport/tcp/route.hpp"

namespace stria::tcp {

/// On all addresses of the host, by IPv6 where the system has it, which serves IPv4 as well. `port` says
/// which of the range it is. Error: none is free.
Result<UniqueFd> listen_on(const PortRange& ports, std::uint16_t& port);
/// A connection that is being made; empty: it cannot be, and errno says why.
UniqueFd begin_connection(const Route& route, std::uint16_t port) noexcept;
/// The next connection that came; empty: none.
UniqueFd accept_connection(const UniqueFd& door) noexcept;
/// Whether a call failed because the process, or the system, has no descriptor left.
bool lacks_descriptor(int error) noexcept;
/// Where the far end of a connection is.
Ip peer_of(const UniqueFd& socket) noexcept;
/// Whether a send that failed so may be repeated when there is room.
bool is_full(int error) noexcept;
/// The same of reading: nothing is there.
bool is_dry(int error) noexcept;
/// The error of a connection that nothing has told of yet; 0: none. Tells it once.
int error_of(const UniqueFd& socket) noexcept;
/// Whether a connection that failed so was reset, so that both processes may be there still.
bool is_reset(int error) noexcept;
/// Whether the system has given up a connection on which nothing is answered.
bool is_silence(int error) noexcept;
/// Whether it is the connection that has ended so, not the memory, say; 0: the peer sends no more.
bool is_end(int error) noexcept;
/// Bytes that were sent and that the peer's system has not acknowledged.
std::size_t unacknowledged(const UniqueFd& socket) noexcept;

/// How long the peer's system takes to acknowledge something, in microseconds, as this one has measured it,
/// by the handshake of TCP to begin with; 0: not known, or more than a second.
std::uint32_t round_trip_us(const UniqueFd& socket) noexcept;

enum class Moved : std::uint8_t { all, some, ended };

/// A message of a fixed size that goes, or comes, piece by piece.
class Transfer {
 public:
  Moved send(const UniqueFd& socket, std::span<const std::byte> message) noexcept;
  Moved receive(const UniqueFd& socket, std::span<std::byte> message) noexcept;

 private:
  Moved after(ssize_t bytes, std::size_t all) noexcept;
  std::size_t moved_ = 0;
};

}  // namespace stria::tcp
