// The wire format: every byte that two workers exchange through a provider, whatever path it takes. Integers
// are little-endian (a static_assert below); tests/transport/wire_test.cpp pins the bytes.
//
//   header  | kind 1 | flags 1 | sequence 2 | immediate 4 | tag 8 |      16 bytes, then a body or payload
//
//   eager   matchable; the payload is the message
//   sync    matchable; the payload is the message, flags = 1 + the slot of the sender's operation:
//           a FIN is to say when it was matched
//   rts     matchable; RtsBody, then the sender's key (key_bytes)
//   rtr     tag = sender operation; RtrBody, then the receiver's key (key_bytes): "send me fragments" or "put
//           your part"; of a piece: "send me fragments of this part by the link that this comes by", and
//           there may be more such requests for the message, by this link and others of the two workers
//   frag    tag = receiver operation, the 56 bits between = the place of its bytes in the message,
//           payload = the bytes
//           without bytes: a piece that was put there, or kPutting: the first one is being put
//   fin     tag = the operation that ends at whoever gets it, or the name of its sync message,
//           immediate = Status
//           from a receiver: the last message, which ends the sender's key; to a receiver: a refusal to send
//           flags = the rails, a bit for each number, whose keys end by an end_key or with the rail
//   credit  tag = bytes of unexpected buffering the receiver grants on top
//   rma_get, rma_put
//           tag = region; RmaBody: a get or put that the provider cannot do itself
//   atomic  tag = region, immediate = stria_atomic_op_t; AtomicBody: for the engine of the region's owner
//   word    tag = the operation that it answers, immediate = Status; with ok the word as it was before (8)
//   ask_key
//           tag = sender operation; AskKeyBody: the receiver is to read a part of the message by the link
//           that this comes by, a rail, and asks for a key for it
//           flags = the receiver's number for the rail, below STRIA_DEVICES_MAX
//   rail_key
//           tag = receiver operation; the key, for the rail that this comes by; nothing: there is none
//   gone    the sender gave up whoever gets it, and answers nothing any more; by any link of the two
//   end_key
//           tag = sender operation; sent with invalidate: the receiver reads no more by the rail that this
//           comes by, and its key has ended
//
// The bodies of packets that announce bytes or ask for them fit kSmall, apart from keys behind them. So a
// provider can always send such a packet without a key, even when its buffers are exhausted.
//
// A key is its provider's, but for one byte: STRIA_KEY_FLAGS_AT says whether peers map the memory behind it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "stria/provider.h"

namespace stria::wire {

static_assert(std::endian::native == std::endian::little, "the wire format is little-endian");

/// Bumped with every change of these bytes; part of every worker address, checked before anything is
/// exchanged.
inline constexpr std::uint8_t kVersion = 12;

/// Payload, in bytes, that a provider can always send, even when its eager buffers are exhausted.
inline constexpr std::uint32_t kSmall = STRIA_SMALL_PAYLOAD;

enum class Kind : std::uint8_t {
  none = 0,
  eager,
  rts,
  rtr,
  frag,
  fin,
  credit,
  rma_get,
  rma_put,
  atomic,
  word,
  sync,
  ask_key,
  rail_key,
  gone,
  end_key
};

using Header = stria_header_t;
static_assert(sizeof(Header) == 16 && offsetof(Header, sequence) == 2 && offsetof(Header, immediate) == 4 &&
              offsetof(Header, tag) == 8);

constexpr Header make_header(Kind kind, std::uint64_t tag, std::uint32_t immediate = 0) noexcept {
  return Header{static_cast<std::uint8_t>(kind), 0, 0, immediate, tag};
}

/// The place of a fragment, in bytes from the beginning of its message, is what the header has between kind
/// and tag. No fragment lies or ends beyond kPutting.
inline constexpr std::uint64_t kPutting = (std::uint64_t{1} << 56) - 1;
constexpr Header make_fragment(std::uint64_t receiver_op, std::uint64_t place) noexcept {
  return Header{static_cast<std::uint8_t>(Kind::frag), static_cast<std::uint8_t>(place),
                static_cast<std::uint16_t>(place >> 8), static_cast<std::uint32_t>(place >> 24), receiver_op};
}
constexpr std::uint64_t place_of(const Header& fragment) noexcept {
  return fragment.flags | (std::uint64_t{fragment.sequence} << 8) | (std::uint64_t{fragment.immediate} << 24);
}

/// A request for a key, from a receiver for which the rail has this number.
constexpr Header make_ask_key(std::uint64_t sender_op, std::uint8_t rail) noexcept {
  return Header{static_cast<std::uint8_t>(Kind::ask_key), rail, 0, 0, sender_op};
}

/// A synchronous message by its sequence number and the flags of its header. Never an OpId; 0: none.
using SyncName = std::uint32_t;
constexpr SyncName sync_name(const Header& header) noexcept {
  if (header.kind != static_cast<std::uint8_t>(Kind::sync)) return 0;
  return (static_cast<std::uint32_t>(header.sequence) << 8) | header.flags;
}
constexpr std::uint32_t sync_slot(SyncName name) noexcept {
  return (name & 0xff) - 1;
}
inline constexpr std::uint32_t kSyncSlots = 255;
inline constexpr std::uint32_t kSyncNameBits = 24;

/// Whether it counts against the credit.
constexpr bool has_payload(const Header& header) noexcept {
  return header.kind == static_cast<std::uint8_t>(Kind::eager) ||
         header.kind == static_cast<std::uint8_t>(Kind::sync);
}

/// An operation of a worker as its peer names it: slot index and, from bit 32 on, a generation that is not 0,
/// checked when it comes back.
using OpId = std::uint64_t;

struct RtsBody {
  std::uint64_t length;  // packed bytes of the message
  OpId sender_op;
  std::uint32_t
      block_bytes;  // mean contiguous run at the sender, saturated; 0: contiguous, or its key shows it so
  std::uint8_t key_bytes;  // length of the key that follows; 0: none, only the packed pipeline is possible
  std::uint8_t sparse;     // 1: each of its blocks is a cache line of its own
  std::uint8_t turned;     // 1: a matrix by its columns, whose neighbours in a line come a column later
  std::uint8_t reserved;   // 0
};
static_assert(sizeof(RtsBody) == 24 && offsetof(RtsBody, sender_op) == 8 &&
              offsetof(RtsBody, block_bytes) == 16 && offsetof(RtsBody, key_bytes) == 20);

/// An RtsBody as the three words it is, each made in a register (base/words.hpp).
struct RtsWords {
  std::uint64_t at[3];
};
static_assert(sizeof(RtsWords) == sizeof(RtsBody));
/// Makes the words of an RtsBody. Six parameters: its fields.
constexpr RtsWords rts_words(std::uint64_t length, OpId sender_op, std::uint32_t block_bytes,
                             std::uint8_t key_bytes, bool sparse, bool turned) noexcept {
  return {{length, sender_op,
           block_bytes | (std::uint64_t{key_bytes} << 32) | (std::uint64_t{sparse ? 1u : 0u} << 40) |
               (std::uint64_t{turned ? 1u : 0u} << 48)}};
}

struct RtrBody {
  OpId receiver_op;
  std::uint64_t offset;          // first byte the sender moves
  std::uint64_t length;          // bytes wanted from there on
  std::uint32_t fragment_bytes;  // payload of a fragment at most; with a key: of every piece
  std::uint8_t key_bytes;        // 0: fragments; else put through the key that follows
  std::uint8_t piece;            // 1: of a message that is asked for in pieces; there is no key then
  std::uint8_t reserved[2];
};
static_assert(sizeof(RtrBody) == 32 && offsetof(RtrBody, length) == 16 &&
              offsetof(RtrBody, fragment_bytes) == 24);

struct RmaBody {
  std::uint64_t offset;  // in the packed stream of the target's region
  std::uint64_t length;
  OpId initiator_op;
  std::uint32_t fragment_bytes;
  std::uint32_t reserved;
};
static_assert(sizeof(RmaBody) == 32 && offsetof(RmaBody, initiator_op) == 16);

struct AtomicBody {
  std::uint64_t offset;  // of the word in the packed stream of the target's region
  std::uint64_t operand;
  std::uint64_t compare;
  OpId initiator_op;
};
static_assert(sizeof(AtomicBody) == 32 && offsetof(AtomicBody, initiator_op) == 24);

struct AskKeyBody {
  OpId receiver_op;
};
static_assert(sizeof(AskKeyBody) == 8);

static_assert(sizeof(RtsBody) <= kSmall && sizeof(RtrBody) <= kSmall && sizeof(RmaBody) <= kSmall &&
              sizeof(AtomicBody) <= kSmall && sizeof(AskKeyBody) <= kSmall);
static_assert(std::is_trivially_copyable_v<RtsBody> && std::is_trivially_copyable_v<RtrBody> &&
              std::is_trivially_copyable_v<RmaBody> && std::is_trivially_copyable_v<AtomicBody> &&
              std::is_trivially_copyable_v<AskKeyBody>);

}  // namespace stria::wire
