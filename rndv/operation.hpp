// The two halves of a rendezvous: SendOp at the sender, RecvOp at the receiver. They live in the memory of
// the request that owns them, or on the heap for the remote half of a put or get that the provider cannot do
// itself.
//
//   SendOp:  announce -> waiting -> (RTR) streaming -> done, or (FIN) done
//                            \-----> (FIN) done
//            after what it put for mapped by both, streaming -> waiting
//            asked for pieces, it waits for the FIN while they are sent (piece_sender.hpp)
//            with zero-copy sends outstanding, ... -> ending -> done
//            it waits for the FIN while rails ask for keys (rail_keys.hpp)
//            (FIN) with keys of rails that its receiver has yet to end, waiting -> ending -> done
//                                                                 (end_rail_keys.cpp)
//   RecvOp:  reading slice after slice -> fin_due -> done         get
//            reading -> fin_due -> done                           get in pieces, by several links
//                                                                 (rail_reader.hpp)
//            rtr_due -> receiving -> (fin_due) -> done            pipeline, its end read where the sender
//                                                                 is silent (help.cpp)
//            receiving -> fin_due -> done                         in pieces, by several links (dividing.cpp)
//            rtr_due -> receiving -> fin_due -> done              mapped by both: its end is read, its begin
//                                                                 is stored by the sender (mapped_both.cpp)
//            rma_due -> receiving -> done                         a get served by the peer's engine
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/intrusive_list.hpp"
#include "rndv/blocks.hpp"
#include "rndv/stored_key.hpp"
#include "transport/link_ref.hpp"

namespace stria::rndv {

class Reassembly;
class RailKeysOfSend;
struct SendPiece;
class Streamer;

/// What both halves have. An operation with work to do in progress() is in the active list of Operations.
struct Operation : ListNode {
  enum class Kind : std::uint8_t { send, recv };
  enum class State : std::uint8_t {
    idle,
    announce,
    waiting,
    streaming,
    reading,
    rtr_due,
    rma_due,
    receiving,
    fin_due
  };
  Kind kind;
  State state = State::idle;
  /// Bytes of the receiver's key, which lies behind the sender's (mapped_both.cpp); 0: none.
  std::uint8_t sink_key_bytes = 0;
  /// RecvOp: what Operations::began() noted, by which ended() sees whether a send was under way beside it.
  std::uint8_t sends_before = 0;
  Status outcome = Status::ok;
  bool active = false;  ///< in a list of the engine
  /// SendOp: ends with FIN even after streaming. RecvOp: FIN is owed after receiving.
  bool needs_fin : 1 = false;
  bool remote_half : 1 = false;    ///< on the heap, serves a peer's put or get
  bool in_flight : 1 = false;      ///< a get or put is under way, the provider still uses the memory
  bool failed : 1 = false;         ///< its peer failed, or refused, while it was in flight
  bool get_sends_fin : 1 = false;  ///< RecvOp: the get under way also sends the FIN
  bool gathered : 1 = false;       ///< SendOp: its key shows memory that lies apart as one run
  bool helps : 1 = false;          ///< RecvOp: may read from the end what the sender does not send (help.cpp)
  bool unnotified : 1 = false;  ///< SendOp: the piece at `moved` is put, and the receiver not told of it yet
  /// RecvOp: the sender has begun to put. SendOp: the receiver was told of that.
  bool put_begun : 1 = false;
  bool packs : 1 = false;        ///< SendOp: its fragments are packed, not sent out of the memory
  bool ending : 1 = false;       ///< SendOp: over, once its zero-copy sends and keys of rails are
  bool get_refused : 1 = false;  ///< RecvOp: its last get was refused, and the engine has yet to handle that
  /// Its message goes in pieces by all links of the peer: as fragments (dividing.cpp) or, RecvOp only, read
  /// by gets (rail_reader.hpp).
  bool divided : 1 = false;
  bool has_rail_keys : 1 = false;  ///< SendOp: rails have keys of it, or asked for them
  wire::OpId id = 0;               ///< this worker's name for it; 0: none
  wire::OpId peer_op = 0;  ///< the peer's name for it, or that of a synchronous message (wire::SyncName)
  const transport::LinkRef* link = nullptr;
  transport::Payload memory{};  ///< the local memory; its range holds the bytes to move
  std::uint64_t moved = 0;      ///< bytes done from the beginning on: streamed, read or received
  std::uint64_t length = 0;     ///< bytes to move
  union {
    /// Until the request for a remote get or put is sent: offset in the region.
    std::uint64_t region_offset = 0;
    /// RecvOp in state receiving, or divided: what came beyond the first gap; null: nothing.
    Reassembly* reassembly;
    Streamer* streamer;  ///< SendOp with zero-copy sends: what sends it
  };
  std::uint32_t fragment_bytes = 0;
  union {
    std::uint32_t slice_bytes = 0;  ///< RecvOp: bytes of the get under way
    std::uint32_t zcopy_sends;      ///< SendOp: zero-copy sends whose memory the provider still reads
    std::uint32_t division;         ///< RecvOp that is divided: the number of its Division
  };
  union {
    std::uint64_t region = 0;   ///< remote half: the region that it works on
    std::uint64_t tail;         ///< any other RecvOp that receives: the bytes from here on are there
    SendPiece* pieces;          ///< SendOp that is divided: pieces being sent, or that a provider still reads
    RailKeysOfSend* rail_keys;  ///< SendOp with rail keys
  };

  explicit Operation(Kind k) noexcept : kind(k) {}
};

/// The sender's half. The base class Completion is what an asynchronous put, or a zero-copy send, hands back:
/// there is no put while there are such sends.
struct SendOp : Operation, transport::Completion {
  SendOp() noexcept : Operation(Kind::send), transport::Completion{} {}
  StoredKey key;
};

/// The receiver's half. The base class Completion is what an asynchronous get hands back.
struct RecvOp : Operation, transport::Completion {
  RecvOp() noexcept : Operation(Kind::recv), transport::Completion{} {}
  StoredKey key;  ///< the sender's
};

/// The outcome of a receive whose get ended with `failed`. access_error says that the key ended before the
/// receive did: the sender closed, or gave the receive up, and the data does not come any more. That is a
/// failure of the peer, not a mistake of the receiver.
inline Status outcome_of_get(Status failed) noexcept {
  return failed == Status::access_error ? Status::peer_failed : failed;
}

/// The end, in the message, of the bytes that fragments have to bring.
inline std::uint64_t tail_of(const RecvOp& op) noexcept {
  return op.remote_half ? op.length : op.tail;
}

/// What a receiver learns from an RTS.
struct Announcement {
  std::uint64_t length = 0;
  wire::OpId sender_op = 0;
  Blocks blocks;       ///< of the sender's memory, as its key shows it
  transport::Key key;  ///< the sender's

  Announcement() noexcept { key.bytes = 0; }
  /// Bytes to store of an Announcement whose key has `key_bytes` bytes.
  static constexpr std::uint32_t stored_bytes(std::uint32_t key_bytes) noexcept;
};
constexpr std::uint32_t Announcement::stored_bytes(std::uint32_t key_bytes) noexcept {
  return static_cast<std::uint32_t>(offsetof(Announcement, key) + offsetof(transport::Key, data)) + key_bytes;
}

}  // namespace stria::rndv
