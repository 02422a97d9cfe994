// The identity of a device: the address bytes by which peers connect to it, and the versions that two devices
// compare before they talk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.hpp"
#include "transport/fingerprint.hpp"

namespace stria::shm {

/// What a peer needs to find and attach a device. Lies in addresses and in peer slots (segment.hpp).
struct Identity {
  std::uint64_t nonce = 0;
  std::uint64_t worker_id = 0;
  std::uint64_t segment_bytes = 0;
  std::uint32_t pid = 0;         ///< of the device's process, in the PID namespace of that process
  std::int32_t fd = -1;          ///< descriptor of the segment's memfd in the device's process
  std::uint64_t host = 0;        ///< host_number() of the device's host
  std::uint32_t pid_space = 0;   ///< namespace_number() of the PID namespace of `pid`
  std::uint32_t door_space = 0;  ///< the network namespace of the device's door (attach.hpp); 0: no door
};
static_assert(sizeof(Identity) == 48 && offsetof(Identity, host) == 32);

/// major << 16 | minor << 8 | patch of this library.
std::uint32_t library_version() noexcept;
std::string version_text(std::uint32_t layout, std::uint32_t wire, std::uint32_t library);

/// Length of an encoded address. The versions come first, so that any version can read them: 1 byte layout,
/// 1 wire, 2 reserved, 4 library; then the identity, and a magic number.
inline constexpr std::size_t kAddressBytes = 64;
void encode_address(const Identity& identity, std::span<std::byte, kAddressBytes> out) noexcept;
/// Errors: invalid (the bytes are no address of this provider); unreachable (the address is of another
/// version; the text names both versions).
Result<Identity> decode_address(std::span<const std::byte> bytes);

using transport::fingerprint;
/// Paths of the calling thread's namespaces, for namespace_number().
inline constexpr const char* kPidNamespace = "/proc/thread-self/ns/pid";
inline constexpr const char* kNetNamespace = "/proc/thread-self/ns/net";
/// The number of the namespace at `path`, cut to 30 bits; 0: not known (no /proc).
std::uint32_t namespace_number(const char* path) noexcept;
/// A number that names the running system: a hash of the kernel's boot id, which is random at each start; 0:
/// not known (no /proc).
std::uint64_t host_number() noexcept;

/// A random number that is never 0.
std::uint64_t random_word() noexcept;

}  // namespace stria::shm
