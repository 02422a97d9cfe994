// The wire format between two uct devices: UCX's active messages. Sizes are in bytes.
//
//   short, buffered   prefix 8 | header 16 | payload
//   closing           prefix 8 | header 16 | ClosedKey 8 | payload    also ends a key of the receiver
//   control           Control 16 | ...                                Hello, Welcome; bye, parted: no more
//
// Where endpoints are joined pairwise, two Joins travel before these, by TCP (joiner.hpp).
//
// The prefix names the receiver's link: it is the number of that link and 32 random bits, which the receiver
// drew for the link and told the peer alone. A message with an unknown prefix is dropped. Integers are in the
// byte order of the machine, as in UCX's own headers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "stria/provider.h"

namespace stria::uct {

/// The numbers by which UCX tells active messages apart.
enum class Am : std::uint8_t { short_packet = 1, buffered = 2, control = 3, closing = 4 };

inline constexpr std::uint32_t kMagic = 0x54435553;  // "SUCT"
inline constexpr std::uint16_t kVersion = 3;         // of a device's address and of the messages in this file
inline constexpr std::uint32_t kAddressMost = 256;   // most bytes of a device's address (stria/provider.h)

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

/// Bytes of a packet in front of its payload, or, in a closing packet, in front of its ClosedKey.
inline constexpr std::size_t kOverhead = sizeof(std::uint64_t) + sizeof(stria_header_t);

/// Stores a header that the caller has just written field by field. The fields are read one by one, and leave
/// by one wide store: a load that takes several narrow stores together waits until they, and every store
/// before them, are in the cache. The last packet to the peer is among these, and its line has to come back
/// from the peer's cache. UCX copies the packet by loads as wide as this store.
inline void store_header(std::byte* to, const stria_header_t& header) noexcept {
  static_assert(std::endian::native == std::endian::little && offsetof(stria_header_t, flags) == 1 &&
                offsetof(stria_header_t, sequence) == 2 && offsetof(stria_header_t, immediate) == 4 &&
                offsetof(stria_header_t, tag) == 8 && sizeof(stria_header_t) == 16);
  using Words [[gnu::vector_size(16)]] = std::uint64_t;
  std::uint32_t sequence = header.sequence, immediate = header.immediate;
  asm("" : "+r"(sequence), "+r"(immediate));  // else the compiler reads the fields by one load
  const std::uint64_t word = header.kind | (std::uint64_t{header.flags} << 8) |
                             (std::uint64_t{sequence} << 16) | (std::uint64_t{immediate} << 32);
  const Words words = {word, header.tag};
  std::memcpy(to, &words, sizeof words);
}

/// Most bytes of UCX's part of a key. UCX's InfiniBand keys have 8 bytes, those of mlx5 24.
inline constexpr std::uint32_t kUcxKeyMost = 28;

/// The part of a key behind UCX's part. Numbers of 64 bits are in two halves, the low one first.
struct KeyTail {
  std::uint32_t name;      ///< names the key among the keys of its owner's device
  std::uint16_t mark;      ///< kKeyMark
  std::uint16_t access;    ///< STRIA_ACCESS_* bits
  std::uint32_t first[2];  ///< address of the first block
  std::uint32_t bytes[2];  ///< sum over all blocks
};
/// Follows KeyTail in a key to several blocks.
struct KeyStride {
  std::uint32_t block;      ///< bytes of one block
  std::uint32_t stride[2];  ///< bytes from one block to the next, signed; low and high half
};
inline constexpr std::uint16_t kKeyMark = 0x5543;
static_assert(kUcxKeyMost + sizeof(KeyTail) + sizeof(KeyStride) == STRIA_PROVIDER_KEY_MAX);

/// Names the key that a closing packet ends.
struct ClosedKey {
  std::uint32_t name;  ///< KeyTail::name of the key
  std::uint32_t reserved;
};

enum class ControlKind : std::uint32_t {
  hello = 1,    ///< a device connects
  welcome = 2,  ///< answer to hello: packets may be sent
  bye = 3,      ///< the sender sends no more packets, and drops those that it receives
  parted = 4,   ///< answer to bye: all that was sent before the bye has arrived
  join = 5,     ///< a device has made an endpoint, and asks the peer for an endpoint to join it with
  joined = 6,   ///< answer to join, with the address of the peer's endpoint
};

struct Control {
  std::uint64_t prefix = 0;  ///< of the receiver's link; 0 in a hello, whose sender does not know it yet
  ControlKind kind{};
  std::uint32_t magic = kMagic;
};
static_assert(sizeof(Control) == 16);

struct Welcome {
  Control control;
  std::uint64_t reply_prefix = 0;  ///< of the sender's link
  std::uint64_t from = 0;          ///< id of the sender's worker
  std::uint64_t to = 0;            ///< id of the receiver's worker
  std::uint64_t proof = 0;         ///< keyed hash of the whole message (handshake.hpp)
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

inline constexpr std::uint32_t kEndpointMost = 64;  // most bytes of an endpoint's address

/// The message of kind join or joined. It travels with its full size, whatever the addresses have.
struct Join {
  Welcome who;  ///< its prefixes are 0
  std::uint16_t version = kVersion;
  std::uint16_t wire_version = 0;
  std::uint32_t address_bytes = 0;
  std::uint32_t endpoint_bytes = 0;
  std::uint32_t reserved = 0;
  std::byte address[kAddressMost] = {};    ///< of the sender's device
  std::byte endpoint[kEndpointMost] = {};  ///< address of the sender's endpoint (uct_ep_get_address)
};
static_assert(sizeof(Join) == 384);

}  // namespace stria::uct
