// The TCP that joining endpoints needs: sockets that listen and connect, and transfers of a message of known
// size, in as many parts as the socket takes. No function blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace stria::uct {

/// Where a device listens. IPv4 address and port are in network byte order.
struct TcpPlace {
  std::uint16_t port = 0;
  std::vector<std::uint32_t> hosts;  ///< addresses of the device's host; a peer may reach only some of them
};

/// Listens on all addresses of the host. `place` is set to the port and the addresses.
Result<UniqueFd> listen_for_peers(TcpPlace& place);
/// Begins to connect, and returns the socket; empty: the connection cannot be begun.
UniqueFd begin_connection(std::uint32_t host, std::uint16_t port) noexcept;
/// Accepts a connection that waits at the listening socket `door`; empty: none waits.
UniqueFd accept_connection(const UniqueFd& door) noexcept;

/// The other side has not hung up. For a connection on which the other side sends nothing more.
bool is_open(const UniqueFd& socket) noexcept;

/// How far a transfer is: complete; to be continued later; or the connection is broken.
enum class Moved : std::uint8_t { all, some, broken };

/// The progress of one message that is sent or received. Each call is for the same message of `bytes` bytes,
/// and continues where the call before stopped.
class Transfer {
 public:
  Moved send(const UniqueFd& socket, const void* message, std::size_t bytes) noexcept;
  Moved receive(const UniqueFd& socket, void* message, std::size_t bytes) noexcept;
  bool has_begun() const noexcept { return moved_ > 0; }

 private:
  std::size_t moved_ = 0;
};

}  // namespace stria::uct
