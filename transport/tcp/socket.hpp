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

/// Listens on all addresses of the host: by IPv6, which serves IPv4 as well, where the system has it. `port`
/// becomes the port of the range that was taken. Error: io_error, none is free or the system refuses.
Result<UniqueFd> listen_on(const PortRange& ports, std::uint16_t& port);
/// Begins a connection without waiting for it. Empty: it cannot be made, and errno says why.
UniqueFd begin_connection(const Route& route, std::uint16_t port) noexcept;
/// Accepts the next connection that came. Empty: there is none, or accepting it failed; errno says which.
UniqueFd accept_connection(const UniqueFd& door) noexcept;
/// Whether a call failed with `error` because the process, or the system, has no descriptor left.
bool lacks_descriptor(int error) noexcept;
/// The address of a connection's far end.
Ip peer_of(const UniqueFd& socket) noexcept;
/// Whether a send that failed with `error` may be repeated when there is room.
bool is_full(int error) noexcept;
/// Whether a read that failed with `error` may be repeated when something has come.
bool is_dry(int error) noexcept;
/// The error of a connection that no call has reported yet; 0: none. Reports it once.
int error_of(const UniqueFd& socket) noexcept;
/// Whether a connection that failed with `error` was reset, so that both processes may still be there.
bool is_reset(int error) noexcept;
/// Whether `error` means that the system has given up a connection on which nothing is answered.
bool is_silence(int error) noexcept;
/// Whether `error` means that the connection has ended, and not that, say, memory cannot be accessed. 0: the
/// peer sends no more.
bool is_end(int error) noexcept;
/// Bytes given to the system that the peer's system has not acknowledged.
std::size_t unacknowledged(const UniqueFd& socket) noexcept;

/// TCP's measure of the round trip to the peer's system, in microseconds; at first that of TCP's handshake.
/// 0: not known, or more than a second.
std::uint32_t round_trip_us(const UniqueFd& socket) noexcept;

/// How far a Transfer is. `some`: not all was moved yet; `ended`: the connection has ended.
enum class Moved : std::uint8_t { all, some, ended };

/// A message of a fixed size that is sent, or received, in as many parts as the socket takes or has.
class Transfer {
 public:
  Moved send(const UniqueFd& socket, std::span<const std::byte> message) noexcept;
  Moved receive(const UniqueFd& socket, std::span<std::byte> message) noexcept;

 private:
  Moved after(ssize_t bytes, std::size_t all) noexcept;
  std::size_t moved_ = 0;
};

}  // namespace stria::tcp
