// The bytes that two verbs devices exchange: the messages of connecting, in the connection manager's private
// data; the prefix in front of every packet's header; and the bytes of a key.
//
//   packet   | Prefix 8 | header 16 | payload |      a greeting, or a packet of credits, is a Prefix alone
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
  pio = 1,   ///< sent by pio_send
  buffered,  ///< sent by eager_send, whether or not its payload was inside the work request
  closing,   ///< sent by send_invalidate or get_finish: it ended a key of the receiver; delivered as pio is
  greeting,  ///< the first packet of the side that connected: from now on the other side may send
  credit,    ///< a packet of credits alone
};

/// How often the greeting is repeated, at most, on iWARP, where the first may be lost (Link::greet_again).
inline constexpr std::uint32_t kMoreGreetings = 3;
/// Receive buffers of a link beside its credits: for greetings, and for one packet of credits alone.
constexpr std::uint32_t packets_beside_credits(bool iwarp) noexcept {
  return 2 + (iwarp ? kMoreGreetings : 0);
}

/// In front of every packet. "Sender" and "receiver" are those of this packet.
struct Prefix {
  std::uint16_t credits;  ///< buffers that the sender has posted again for the receiver's packets
  PacketKind kind;
  std::uint8_t control;  ///< 1: the sender has seen the receiver's last packet of credits
  std::uint32_t link;    ///< the receiver's own number for the link
};
static_assert(sizeof(Prefix) == 8 && offsetof(Prefix, link) == 4);
inline constexpr std::uint32_t kHeadBytes = sizeof(Prefix) + sizeof(stria_header_t);

/// The private data of a connection request, and of the answer to it.
struct Hello {
  std::uint32_t magic;
  std::uint8_t version;
  std::uint8_t wire_version;
  std::uint16_t credits;      ///< packets that the other side may have under way
  std::uint64_t from;         ///< worker id of this side
  std::uint64_t to;           ///< worker id of the other side
  std::uint64_t proof;        ///< that this side knows the job's secret, for this pair and direction
  std::uint32_t link;         ///< the number that packets of the other side name the link by
  std::uint32_t eager_bytes;  ///< payload bytes that a receive buffer of this side holds
};
static_assert(sizeof(Hello) == 40 && sizeof(Hello) <= 56, "what RDMA_PS_TCP leaves of InfiniBand's 92 bytes");

/// Why a connection request is refused.
enum class Reason : std::uint8_t {
  version = 1,
  secret,
  other_worker,  ///< the address belongs to another worker now than the one that was asked for
  yours_comes,   ///< both connect: the request of the refusing side, of smaller worker id, is kept
  busy,          ///< an earlier connection of the same worker is not gone yet
  full,          ///< no link number, buffers or queue pair for it
  broken,        ///< the request is malformed, or the side that sent it has given it up
};
/// The private data of a reject.
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
  strided = 3,  ///< a strided key: `address` is 0, and the reader sees one run
};
/// Whether a message of the peer may end a key of this kind.
constexpr bool ends_by_message(KeyKind kind) noexcept {
  return kind == KeyKind::window || kind == KeyKind::strided;
}

/// The bytes of a key. The adapter checks `rkey`; the other fields let the peer check an access before it
/// asks the adapter.
struct KeyData {
  std::uint32_t rkey;
  std::uint8_t mark;  ///< kKeyMark
  KeyKind kind;
  std::uint16_t access;   ///< STRIA_ACCESS_* bits
  std::uint64_t address;  ///< of the first block, or of contiguous memory
  std::uint64_t bytes;    ///< of all blocks
};
static_assert(sizeof(KeyData) == 24);

/// Follows KeyData in a window's or a region's key to equal blocks at equal distances.
struct KeyStride {
  std::uint32_t block;      ///< bytes of one block
  std::uint32_t stride[2];  ///< low and high half of 64 signed bits
};
static_assert(sizeof(KeyData) + sizeof(KeyStride) == 36, "lies in an operation (rndv::StoredKey)");
inline constexpr std::uint8_t kKeyMark = 0x56;

}  // namespace stria::verbs
