// RailReader: how a receiver reads one long message by several links. The announcement has a key for the main
// link alone, so the receiver asks the sender for a key by each rail, and reads by the main link meanwhile; a
// rail joins when its key comes (rail_keys.hpp). The message is divided into pieces (division.hpp): each link
// reads its next piece when it is free.
//
//   sender   fast_register ── RTS{length, op, key} ──►  receiver: match
//            ◄── ASK_KEY ── (rail)                      get, get (main link)
//            fast_register ── RAIL_KEY ──► (rail)       get, get (rail), get (main link), …
//            ◄── END_KEY + invalidate ── (rail)         all is there, and no get under way
//            keys dead, complete ◄── FIN + invalidate   done
//
// When a get on a rail fails, the rail is left out of this message, and the bytes of the get are free again;
// but only when the get has ended, as until then its provider may write them. For the same reason the
// operation ends behind its last get, whatever became of its peer. When a get on the main link is refused,
// the reading ends: the missing bytes come as fragments, in pieces by all links (dividing.cpp).
#pragma once

#include <cstdint>
#include <span>

#include "rndv/common.hpp"
#include "rndv/requests.hpp"

namespace stria::rndv {

/// Threads: called with the worker's lock held.
class RailReader {
 public:
  RailReader(const Common& common, Pools& pools, Requests& requests) noexcept
      : options_(common.options),
        operations_(common.operations),
        finisher_(common.finisher),
        owner_(common.owner),
        pools_(pools),
        requests_(requests) {}
  RailReader(const RailReader&) = delete;
  RailReader& operator=(const RailReader&) = delete;

  /// Begins to read the message by all links; step() goes on. False: the message is too short, the peer has
  /// no rail, or there is no memory.
  [[gnu::cold, gnu::noinline]] bool begin(RecvOp& op) noexcept;
  /// Asks rails for keys, and begins gets by links that are free. True when something moved.
  bool step(RecvOp& op) noexcept;
  /// Handles the sender's answer to a request for a key, which came by `rail` (null: the main link). False:
  /// no such answer is due.
  [[nodiscard]] bool on_rail_key(const transport::LinkRef& link, const transport::Packet& packet,
                                 const transport::LinkRef* rail) noexcept;
  /// The rail is dead, and no get by it is under way any more.
  void fail_rail(const transport::LinkRef& link, const transport::LinkRef& rail) noexcept;

 private:
  using Rails = std::span<const transport::LinkRef* const>;
  bool ask_for_keys(RecvOp& op, Rails rails) noexcept;
  bool start_gets(RecvOp& op, Rails rails) noexcept;
  bool start_get(RecvOp& op, const transport::LinkRef& link, const transport::Key& key,
                 const Division::Range& range) noexcept;
  void get_ended(GetPiece& piece, Status status) noexcept;
  void get_failed(RecvOp& op, const transport::LinkRef& link, Status status) noexcept;
  void request_fragments(RecvOp& op) noexcept;
  static void on_get_done(stria_completion_t* completion, stria_status_t status) noexcept;

  const Options& options_;
  Operations& operations_;
  Finisher& finisher_;
  Owner& owner_;
  Pools& pools_;
  Requests& requests_;
};

}  // namespace stria::rndv
