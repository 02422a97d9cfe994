// The bytes that two verbs devices exchange: what is said while they connect, in the connection manager's
// private data, and what goes in front of every packet's header.
//
//   packet   | Prefix 8 | header 16 | payload |      greetings and credits are a Prefix alone
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "stria/provider.h"

namespace stria::verbs {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

/// Bumped with every change of these bytes.
inline constexpr std::uint8_t kVersion = 3;
inline constexpr std::uint32_t kHelloMagic = 0x76727473;  // "strv"

enum class PacketKind : std::uint8_t {
  pio = 1,   ///< the payload was in the work request
  buffered,  ///< it was in a buffer
  closing,   ///< like pio, and it ended a key of the receiver
  greeting,  ///< the first packet of the side that connected: the other may send now
  credit,    ///< credits alone
};

/// Greetings that follow the first while the peer says nothing, where the first may be lost
/// (Link::greet_again).
inline constexpr std::uint32_t kMoreGreetings = 3;
/// Buffers for the packets that are outside of the credits: greetings, and one of credits alone.
constexpr std::uint32_t packets_beside_credits(bool iwarp) noexcept {
  return 2 + (iwarp ? kMoreGreetings : 0);
}

struct Prefix {
  std::uint16_t credits;  ///< buffers that the sender has free again for the receiver's packets
  PacketKind kind;
  std::uint8_t control;  ///< 1: the receiver's last packet of credits was seen
  std::uint32_t link;    ///< the receiver's own number for the link
};
static_assert(sizeof(Prefix) == 8 && offsetof(Prefix, link) == 4);
inline constexpr std::uint32_t kHeadBytes = sizeof(Prefix) + sizeof(stria_header_t);

/// Both sides say it: in the request and in the answer to it.
struct Hello {
  std::uint32_t magic;
  std::uint8_t version;
  std::uint8_t wire_version;
  std::uint16_t credits;  ///< packets that the other side may have under way
  std::uint64_t from;     ///< worker ids
  std::uint64_t to;
  std::uint64_t proof;        ///< of the job's secret, for this pair and direction
  std::uint32_t link;         ///< how packets have to name the link
  std::uint32_t eager_bytes;  ///< payload that a buffer takes
};
static_assert(sizeof(Hello) == 40 && sizeof(Hello) <= 56, "what RDMA_PS_TCP leaves of InfiniBand's 92 bytes");

enum class Reason : std::uint8_t {
  version = 1,
  secret,
  other_worker,  ///< the address belonged to somebody else before
  yours_comes,   ///< both sides connect, and the connection of the smaller worker id is kept
  busy,          ///< an earlier connection of the same worker is not gone yet
  full,
  broken,
};
struct Refusal {
  std::uint32_t magic;
  std::uint8_t version;  ///< of the side that refuses
  std::uint8_t wire_version;
  Reason reason;
  std::uint8_t zero;
};
static_assert(sizeof(Refusal) == 8);

/// A device's part of a worker's address.
struct Address {
  std::uint32_t magic;
  std::uint8_t version;
  std::uint8_t family;  ///< 4 or 6
  std::uint16_t port;   ///< in network order
  std::uint64_t worker;
  std::uint8_t ip[16];
};
static_assert(sizeof(Address) == 32);

enum class KeyKind : std::uint8_t {
  window = 1,
  region = 2,
  strided = 3,  ///< zero-based: `address` is 0, and what lies apart in memory is one run for the reader
};
/// A message of the peer may end it.
constexpr bool ends_by_message(KeyKind kind) noexcept {
  return kind == KeyKind::window || kind == KeyKind::strided;
}

/// The first word is what the adapter looks at; the rest lets the peer check before it asks.
struct KeyData {
  std::uint32_t rkey;
  std::uint8_t mark;  ///< kKeyMark
  KeyKind kind;
  std::uint16_t access;  ///< STRIA_ACCESS_* bits
  std::uint64_t address;
  std::uint64_t bytes;
};
static_assert(sizeof(KeyData) == 24);

/// Behind it in the key of strided memory, of which `address` is that of the first block and `bytes` are
/// those of all blocks.
struct KeyStride {
  std::uint32_t block;
  std::uint32_t stride[2];  ///< low and high half of 64 signed bits
};
static_assert(sizeof(KeyData) + sizeof(KeyStride) == 36, "lies in an operation (rndv::StoredKey)");
inline constexpr std::uint8_t kKeyMark = 0x56;

}  // namespace stria::verbs
