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

/// The largest that the contract has room for.
inline constexpr std::size_t kAddressMost = 256;

/// A secret of one device, which its address tells: a process that knows the ticket has been given the
/// address. Other users can guess a job's secret that is made of the user's id; a ticket is drawn at random,
/// and is never sent over a connection.
using Ticket = std::array<std::byte, 16>;

struct Address {
  std::uint64_t worker = 0;
  std::uint64_t instance = 0;   ///< a random number of the device, which answers no hello without it
  std::uint64_t host = 0;       ///< the running system; 0: not known
  std::uint32_t net_space = 0;  ///< the network namespace; 0: not known
  std::uint32_t eager_max = 0;  ///< payload bytes of a packet that the device takes
  std::uint16_t port = 0;       ///< in the order of the host
  Ticket ticket{};
  std::vector<Ip> ips;

  /// Both devices are in one network namespace. A refused connection then means for certain that the device
  /// is closed; between namespaces a firewall may have refused it.
  bool shares_network_with(const Address& other) const noexcept {
    return host != 0 && net_space != 0 && host == other.host && net_space == other.net_space;
  }
};

/// Leaves out what has no room; the first addresses come first. `secret`: the job's.
std::vector<std::byte> encode(const Address& address, std::span<const std::byte> secret);
/// Error: the bytes are no address of this provider, or of another version; UNREACHABLE: of another job.
Result<Address> decode(std::span<const std::byte> bytes, std::span<const std::byte> secret);

}  // namespace stria::tcp
