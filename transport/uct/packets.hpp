// What travels between two devices, in UCX's active messages.
//
//   short, buffered   prefix 8 | header 16 | payload        the prefix names the receiver's link
//   closing           prefix 8 | header 16 | ClosedKey 8 | payload        it ends this key of the receiver
//   control           prefix 8 | kind 4 | ...               Hello, Welcome; Bye and Parted are the first
//   alone
//
// Where endpoints are joined pairwise, two Joins travel before, by TCP (joiner.hpp).
//
// A prefix is the number of a link and 32 random bits, which the receiver drew for it and told the peer
// alone: what comes with another is dropped. Integers are in the byte order of the machine, as UCX's own
// headers are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stria/provider.h"

namespace stria::uct {

/// Numbers of active messages.
enum class Am : std::uint8_t { short_packet = 1, buffered = 2, control = 3, closing = 4 };

inline constexpr std::uint32_t kMagic = 0x54435553;  // "SUCT"
inline constexpr std::uint16_t kVersion = 3;         // of addresses and of all that is here
inline constexpr std::uint32_t kAddressMost = 256;   // stria/provider.h

class Prefix {
 public:
  Prefix() = default;
  explicit Prefix(std::uint64_t bits) noexcept : bits_(bits) {}
  Prefix(std::uint32_t number, std::uint32_t token) noexcept : bits_(std::uint64_t{token} << 32 | number) {}
  std::uint32_t number() const noexcept { return static_cast<std::uint32_t>(bits_); }
  std::uint64_t bits() const noexcept { return bits_; }
  bool operator==(const Prefix&) const = default;

 private:
  std::uint64_t bits_ = 0;
};

/// Bytes of a packet in front of its payload.
inline constexpr std::size_t kOverhead = sizeof(std::uint64_t) + sizeof(stria_header_t);

/// Bytes that a key of UCX has at most; those of InfiniBand have 8, of mlx5 24.
inline constexpr std::uint32_t kUcxKeyMost = 28;

/// A key: UCX's part, this, and KeyStride behind it where the memory lies apart.
struct KeyTail {
  std::uint32_t name;      ///< of the owner's device
  std::uint16_t mark;      ///< kKeyMark
  std::uint16_t access;    ///< STRIA_ACCESS_* bits
  std::uint32_t first[2];  ///< low and high half of the address of the first block
  std::uint32_t bytes[2];  ///< of all blocks
};
struct KeyStride {
  std::uint32_t block;
  std::uint32_t stride[2];  ///< low and high half of 64 signed bits
};
inline constexpr std::uint16_t kKeyMark = 0x5543;
static_assert(kUcxKeyMost + sizeof(KeyTail) + sizeof(KeyStride) == STRIA_PROVIDER_KEY_MAX);

struct ClosedKey {
  std::uint32_t name;  ///< as KeyTail has it
  std::uint32_t reserved;
};

enum class ControlKind : std::uint32_t {
  hello = 1,    ///< a device connects
  welcome = 2,  ///< the answer: packets may be sent
  bye = 3,      ///< nothing comes any more, and nothing that comes is taken
  parted = 4,   ///< the answer: all that was sent before the bye came
  join = 5,     ///< a device has an endpoint, and asks the peer for one to join it with
  joined = 6,   ///< the answer: here it is
};

struct Control {
  std::uint64_t prefix = 0;  ///< of the receiver's link; 0 in a hello, whose sender knows none
  ControlKind kind{};
  std::uint32_t magic = kMagic;
};
static_assert(sizeof(Control) == 16);

struct Welcome {
  Control control;
  std::uint64_t reply_prefix = 0;  ///< of the sender's link
  std::uint64_t from = 0;          ///< worker
  std::uint64_t to = 0;            ///< worker
  std::uint64_t proof = 0;         ///< handshake.hpp
};
static_assert(sizeof(Welcome) == 48);

struct Hello {
  Welcome who;
  std::uint16_t version = kVersion;
  std::uint16_t wire_version = 0;
  std::uint32_t address_bytes = 0;
  std::byte address[kAddressMost] = {};  ///< of the sender's device; only address_bytes of it travel
};
static_assert(offsetof(Hello, address) == 56);

inline constexpr std::uint32_t kEndpointMost = 64;

/// All of it travels.
struct Join {
  Welcome who;  ///< without prefixes
  std::uint16_t version = kVersion;
  std::uint16_t wire_version = 0;
  std::uint32_t address_bytes = 0;
  std::uint32_t endpoint_bytes = 0;
  std::uint32_t reserved = 0;
  std::byte address[kAddressMost] = {};    ///< of the sender's device
  std::byte endpoint[kEndpointMost] = {};  ///< uct_ep_get_address
};
static_assert(sizeof(Join) == 384);

}  // namespace stria::uct
