// A device's part of the worker's address: who it is, where it lives, and UCX's own two addresses.
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
  std::uint64_t instance = 0;  ///< random, of this device
  std::uint64_t worker = 0;
  std::uint64_t check =
      0;  ///< tells a device of another job: the fingerprint of the job's secret for the two
  Whereabouts where;
  std::uint32_t eager_bytes = 0;  ///< payload of one packet that it takes
  std::uint32_t zcopy_bytes = 0;  ///< of one out of the sender's memory
  std::string transport;
  std::vector<std::byte> device;     ///< uct_iface_get_device_address
  std::vector<std::byte> interface;  ///< uct_iface_get_address
  TcpPlace joining{};                ///< where endpoints are joined (joiner.hpp); port 0: nowhere

  std::uint64_t expected_check(std::span<const std::byte> secret) const noexcept;
};

/// Error: unsupported; it is longer than an address may be.
Result<std::vector<std::byte>> encode_address(const Address& address);
/// Errors: invalid (no address of this provider); unreachable (of another version; the text names both).
Result<Address> decode_address(std::span<const std::byte> bytes);

}  // namespace stria::uct
