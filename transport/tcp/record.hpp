// What goes over the connections of a link once they are up. The first carries records one behind the other,
// each a head and its payload; a bulk connection carries pieces, each a head and its bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "transport/contract.hpp"

namespace stria::tcp {

enum class RecordKind : std::uint32_t {
  packet = 0,
  ending,     ///< a packet that ends a key of the receiver: the key, then the packet's payload
  request,    ///< of a piece: PieceRequest
  no_bulk,    ///< there will be no bulk connections: nothing can be requested, by either side
  want_bulk,  ///< the peer, which made this connection, is asked for bulk connections, too
  resume,     ///< the peer goes on with a bulk connection (Resume) where it has refused a piece
  padding,    ///< means nothing, and is not counted
  lane_lost,  ///< a bulk connection has ended (LaneLost)
  again       ///< the index of the next record, of 64 bits: the peer may have it already. Is not counted
};

struct RecordHead {
  std::uint32_t bytes = 0;  ///< of the payload
  RecordKind kind{};
  transport::Header header{};  ///< of a packet
};
static_assert(sizeof(RecordHead) == 24);

/// What a key is. `name` says which slot of the owner, and how often the slot was used.
struct KeyName {
  std::uint32_t name = 0;
  std::uint32_t mark = 0;
  std::uint64_t random = 0;
  bool operator==(const KeyName&) const = default;
};
static_assert(sizeof(KeyName) == 16);

/// Bytes [offset, offset + length) of the memory behind a key are to come over a bulk connection.
struct PieceRequest {
  KeyName key;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t lane = 0;  ///< the purpose of the bulk connection (Hello)
};
static_assert(sizeof(PieceRequest) == 32);

/// In front of a piece's bytes. Pieces come in the order in which they were requested.
struct PieceHead {
  std::uint32_t refused = 0;  ///< 1: the key does not allow it; nothing follows before Resume
  std::uint32_t length = 0;   ///< as requested
};
static_assert(sizeof(PieceHead) == 8);

/// Goes from the requester to the owner of the memory: the requester has read that its piece is refused, and
/// the owner may send the next piece.
struct Resume {
  std::uint32_t lane = 0;  ///< the purpose of the bulk connection
};
/// The bulk connection has ended. What the peer has requested over it and did not get is to be requested
/// anew.
struct LaneLost {
  std::uint32_t lane = 0;  ///< its purpose
};

/// A long message is requested in pieces of so many bytes, so that all bulk connections have a part in it.
inline constexpr std::uint32_t kPiece = 512 << 10;
/// Pieces of one bulk connection that were requested and did not come yet.
inline constexpr std::uint32_t kPiecesMost = 64;
/// No more are requested of a bulk connection while so many bytes are outstanding. The kernel goes on with
/// what was requested, and with nothing else, while both processes compute.
inline constexpr std::uint64_t kOutstanding = 32 << 20;
/// The kernel is asked to go on by itself where so many bytes are left (KernelQueue).
inline constexpr std::uint64_t kHandedOver = 64 << 10;
/// Pieces that the kernel is asked to go on with at a time.
inline constexpr std::uint32_t kPiecesOfKernel = 48;
/// Bulk connections of a link.
inline constexpr std::uint32_t kLanesMost = 8;
inline constexpr unsigned kLaneBits = 4;
inline constexpr std::uint32_t kLanePurposeMost = (1u << 28) - 1;

/// What is read beyond the record that is wanted. Longer payloads go from the socket straight to the memory
/// that the sink names, but for this much of them.
inline constexpr std::size_t kReadAhead = 16384;

/// Short records wait for others until there are so many bytes of them, at most and to begin with: the second
/// is also what goes to a peer, and means nothing, when a deadline passes soon.
inline constexpr std::size_t kHeldMost = 16384;
inline constexpr std::size_t kHeldLeast = 512;

/// A buffer has room for the longest record and what is read ahead.
constexpr std::size_t buffer_bytes(std::uint32_t eager_max) noexcept {
  return sizeof(RecordHead) + sizeof(KeyName) + std::max<std::size_t>(eager_max, kHeldMost) + kReadAhead;
}

/// Runs of memory in one system call.
inline constexpr std::size_t kRunsMost = 64;
/// Runs of all pieces that the kernel is asked to go on with: a head and its bytes, where these are
/// contiguous.
inline constexpr std::size_t kRunsOfKernel = 2 * std::size_t{kPiecesOfKernel} + kRunsMost;
/// Below this mean run, bytes are packed before they are sent, and unpacked after they came.
inline constexpr std::uint32_t kGatheredRun = 512;
inline constexpr std::uint32_t kScatteredRun = 256;

}  // namespace stria::tcp
