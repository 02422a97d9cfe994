// What goes over the connections of a link once they are up. The first connection carries records one behind
// the other, each a head and its payload; a bulk connection carries pieces, each a head and its bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "transport/contract.hpp"

namespace stria::tcp {

enum class RecordKind : std::uint32_t {
  packet = 0,
  ending,   ///< a packet that ends a key of the receiver; the payload is the key, and behind it the packet's
  request,  ///< requests a piece (PieceRequest)
  no_bulk,  ///< there will be no bulk connections: nothing can be requested, by either side
  want_bulk,  ///< asks the peer, which made this connection, for bulk connections
  resume,     ///< a bulk connection goes on behind a refused piece (Resume)
  padding,    ///< means nothing; not counted
  lane_lost,  ///< a bulk connection has ended (LaneLost)
  again       ///< the index, of 64 bits, of the next record, which the peer may have already; not counted
};

struct RecordHead {
  std::uint32_t bytes = 0;  ///< length of the payload
  RecordKind kind{};
  transport::Header header{};  ///< of a packet, also of one that ends a key
};
static_assert(sizeof(RecordHead) == 24);

/// The bytes of a key. `name` tells a slot of the owner's table, and how often the slot was used.
struct KeyName {
  std::uint32_t name = 0;
  std::uint32_t mark = 0;
  std::uint64_t random = 0;
  bool operator==(const KeyName&) const = default;
};
static_assert(sizeof(KeyName) == 16);

/// Requests bytes [offset, offset + length) of the memory behind a key, which are to come over a bulk
/// connection.
struct PieceRequest {
  KeyName key;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t lane = 0;  ///< Hello::purpose of the bulk connection
};
static_assert(sizeof(PieceRequest) == 32);

/// Precedes the bytes of a piece. Pieces come in the order in which they were requested.
struct PieceHead {
  std::uint32_t refused = 0;  ///< 1: the key does not allow the access; nothing follows before Resume
  std::uint32_t length = 0;   ///< as requested
};
static_assert(sizeof(PieceHead) == 8);

/// Goes from the requester to the owner of the memory: the requester has read that its piece is refused, and
/// the owner may send the next piece.
struct Resume {
  std::uint32_t lane = 0;  ///< Hello::purpose of the bulk connection
};
/// Says that a bulk connection has ended. The pieces that the receiver of this record has requested over it,
/// and did not get, are to be requested anew.
struct LaneLost {
  std::uint32_t lane = 0;  ///< Hello::purpose of the bulk connection
};

/// Bytes of a piece. A long message is requested in pieces, so that all bulk connections have a part in it.
inline constexpr std::uint32_t kPiece = 512 << 10;
/// Most pieces of one bulk connection that are requested and have not come.
inline constexpr std::uint32_t kPiecesMost = 64;
/// Outstanding bytes from which on no more pieces are requested of a bulk connection. While both processes
/// compute, the kernel goes on with what was requested, and with nothing else.
inline constexpr std::uint64_t kOutstanding = 32 << 20;
/// Bytes that have to be left before the kernel is asked to go on by itself (KernelQueue).
inline constexpr std::uint64_t kHandedOver = 64 << 10;
/// Most pieces that the kernel is asked to go on with at a time.
inline constexpr std::uint32_t kPiecesOfKernel = 48;
/// Most bulk connections of a link.
inline constexpr std::uint32_t kLanesMost = 8;
/// Bits of a bulk connection's number in its purpose (lane_purpose()).
inline constexpr unsigned kLaneBits = 4;
/// The largest Hello::purpose of a bulk connection.
inline constexpr std::uint32_t kLanePurposeMost = (1u << 28) - 1;

/// Bytes that are read beyond the record that is wanted. The rest of a longer payload goes from the socket
/// straight to the memory that the sink names.
inline constexpr std::size_t kReadAhead = 16384;

/// Most and least bytes of short records that are collected before they are sent together. A new connection
/// collects the least: when its deadline passes early, the unused part is sent as padding.
inline constexpr std::size_t kHeldMost = 16384;
inline constexpr std::size_t kHeldLeast = 512;

/// Size of a buffer that has room for the longest record and for what is read ahead.
constexpr std::size_t buffer_bytes(std::uint32_t eager_max) noexcept {
  return sizeof(RecordHead) + sizeof(KeyName) + std::max<std::size_t>(eager_max, kHeldMost) + kReadAhead;
}

/// Most runs of memory in one system call.
inline constexpr std::size_t kRunsMost = 64;
/// Most runs of memory of all pieces that the kernel is asked to go on with: a head and its bytes for each
/// piece, where these are contiguous.
inline constexpr std::size_t kRunsOfKernel = 2 * std::size_t{kPiecesOfKernel} + kRunsMost;
/// Memory with a shorter mean run, in bytes, is packed before it is sent, and unpacked after it was received.
inline constexpr std::uint32_t kGatheredRun = 512;
inline constexpr std::uint32_t kScatteredRun = 256;

}  // namespace stria::tcp
