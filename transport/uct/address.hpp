// The part of a worker's address that describes one uct device: its identity, the process that it lives in,
// and the device address and interface address of UCX. The layout, as offsets and sizes in bytes:
//
//   0 magic 4 | version 2 | wire version 2 | instance 8 | worker 8 | check 8 | whereabouts 32
//   64 eager bytes 4 | zcopy bytes 4 | device bytes 1 | interface bytes 1 | port 2 | hosts 1 | reserved 3 |
//   80 transport 16
//   96 device | interface | 4 for each host
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "transport/uct/packets.hpp"
#include "transport/uct/tcp.hpp"
#include "transport/uct/whereabouts.hpp"

namespace stria::uct {

struct Address {
  std::uint64_t instance = 0;  ///< a random number that identifies the device
  std::uint64_t worker = 0;
  /// The fingerprint of instance and worker under the job's secret: a device of another job has another one.
  std::uint64_t check = 0;
  Whereabouts where;
  std::uint32_t eager_bytes = 0;  ///< most payload of a buffered packet to this device
  std::uint32_t zcopy_bytes = 0;  ///< most payload of a packet that is sent out of the sender's memory
  std::string transport;
  std::vector<std::byte> device;     ///< uct_iface_get_device_address
  std::vector<std::byte> interface;  ///< uct_iface_get_address
  TcpPlace joining{};                ///< where peers ask to join endpoints (joiner.hpp); port 0: they cannot

  /// The `check` that a device with this instance and worker has if its job has this secret.

  std::uint64_t expected_check(std::span<const std::byte> secret) const noexcept;
};

/// Error: unsupported; the encoded address, or the transport's name, is too long.
Result<std::vector<std::byte>> encode_address(const Address& address);
/// Errors: invalid (no address of this provider); unreachable (of another version; the text names both).
Result<Address> decode_address(std::span<const std::byte> bytes);

}  // namespace stria::uct
