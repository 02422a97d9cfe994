// A device's part of the worker's address: the worker's id, the host and network namespace of its process,
// and the port and addresses on which the device listens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "transport/tcp/ip.hpp"

namespace stria::tcp {

/// Most bytes of an encoded address: the provider contract has room for no more.
inline constexpr std::size_t kAddressMost = 256;

/// A random secret of one device, which is a part of its address: a process that knows the ticket has been
/// given the address. Other users can guess a job's secret that is made of the user's id, but no ticket. A
/// ticket is never sent over a connection.
using Ticket = std::array<std::byte, 16>;

struct Address {
  std::uint64_t worker = 0;
  /// A random number of the device; a hello that does not name it gets no answer.
  std::uint64_t instance = 0;
  std::uint64_t host = 0;       ///< identifies the running system; 0: not known
  std::uint32_t net_space = 0;  ///< identifies the network namespace; 0: not known
  std::uint32_t eager_max = 0;  ///< most payload bytes of a packet to the device
  std::uint16_t port = 0;       ///< of the listening socket, in host byte order
  Ticket ticket{};
  std::vector<Ip> ips;

  /// Whether both devices are in one network namespace. A refused connection then means for certain that the
  /// device is closed; between namespaces a firewall may have refused it.
  bool shares_network_with(const Address& other) const noexcept {
    return host != 0 && net_space != 0 && host == other.host && net_space == other.net_space;
  }
};

/// Encodes an address under the job's `secret`. Leaves out the first of `ips` that has no room, and all
/// behind it.
std::vector<std::byte> encode(const Address& address, std::span<const std::byte> secret);
/// Decodes an address. Errors: invalid, the bytes are no address of this provider and version; unreachable,
/// the address was made under another job's secret, or was changed.
Result<Address> decode(std::span<const std::byte> bytes, std::span<const std::byte> secret);

}  // namespace stria::tcp
