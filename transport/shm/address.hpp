// Who a device is: the bytes it gives away to be connected to, and what two devices agree on before they
// talk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.hpp"
#include "transport/fingerprint.hpp"

namespace stria::shm {

/// A device as others find it.
struct Identity {
  std::uint64_t nonce = 0;
  std::uint64_t worker_id = 0;
  std::uint32_t pid = 0;  ///< in its own namespace
  std::uint32_t uid = 0;
  std::int32_t fd = -1;  ///< number of its memfd there
  std::uint64_t segment_bytes = 0;
  std::uint64_t host = 0;        ///< as host_number()
  std::uint32_t pid_space = 0;   ///< the namespace of `pid`, as namespace_number()
  std::uint32_t door_space = 0;  ///< the network namespace in which its door has a name; 0: it has no door
};

/// major << 16 | minor << 8 | patch of this library.
std::uint32_t library_version() noexcept;
std::string version_text(std::uint32_t layout, std::uint32_t wire, std::uint32_t library);

/// The address as bytes, versions first: 1 layout, 1 wire, 2 reserved, 4 library, then the identity.
inline constexpr std::size_t kAddressBytes = 64;
void encode_address(const Identity& identity, std::span<std::byte, kAddressBytes> out) noexcept;
/// Errors: invalid (not an address of this provider); unreachable (another version; the text names both).
Result<Identity> decode_address(std::span<const std::byte> bytes);

using transport::fingerprint;
/// Namespaces of the calling thread, and the number of one in 30 bits; 0: not known (no /proc).
inline constexpr const char* kPidNamespace = "/proc/thread-self/ns/pid";
inline constexpr const char* kNetNamespace = "/proc/thread-self/ns/net";
std::uint32_t namespace_number(const char* path) noexcept;
/// Names the running system: what the kernel drew at random when it started; 0: not known (no /proc).
std::uint64_t host_number() noexcept;

/// Random, never 0.
std::uint64_t random_word() noexcept;

/// Abstract socket names of a device: the door that hands out descriptors, and the one that wakes it.
std::string door_name(std::uint64_t nonce);
std::string wakeup_name(std::uint64_t nonce);

}  // namespace stria::shm
