// What joining endpoints needs of TCP: a socket that listens, one that connects, and messages of one size
// that go piece by piece. Nothing here blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace stria::uct {

/// Where a device listens: IPv4, in the order of the network.
struct TcpPlace {
  std::uint16_t port = 0;
  std::vector<std::uint32_t> hosts;  ///< addresses of its host, each of which may do
};

/// On all addresses of the host; `place` says where.
Result<UniqueFd> listen_for_peers(TcpPlace& place);
/// A connection that is being made; empty: it cannot be.
UniqueFd begin_connection(std::uint32_t host, std::uint16_t port) noexcept;
/// The next connection that came; empty: none.
UniqueFd accept_connection(const UniqueFd& door) noexcept;

/// The other side has not hung up.
bool is_open(const UniqueFd& socket) noexcept;

enum class Moved : std::uint8_t { all, some, broken };

/// How much of a message of `bytes` bytes went, or came.
class Transfer {
 public:
  Moved send(const UniqueFd& socket, const void* message, std::size_t bytes) noexcept;
  Moved receive(const UniqueFd& socket, void* message, std::size_t bytes) noexcept;
  bool has_begun() const noexcept { return moved_ > 0; }

 private:
  std::size_t moved_ = 0;
};

}  // namespace stria::uct
