// Gets, puts and atomics under way, each of them a Move. A move is posted piece by piece, one work request a
// piece, as the send queue has room, and ends when its last piece has completed. The adapter moves the bytes;
// this process only describes them.
//
//   free ── start ──► under way ── last piece ──► ended ── deliver_ended: the completion is called ──► free
//                        │  ▲
//                        ▼  │ resume_stalled: there may be room
//                      stalled (nothing is posted)
//
// When a link ends, the pieces that are under way on it complete; a stalled move of the link ends when it is
// resumed. Only deliver_ended makes upcalls.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/intrusive_list.hpp"
#include "transport/blocks.hpp"
#include "transport/contract.hpp"
#include "transport/verbs/regions.hpp"
#include "transport/verbs/shared.hpp"

namespace stria::verbs {

class Link;
struct Chain;

/// An atomic is one piece. The adapter writes the word's old value into a slot of Shared::words, from where
/// end_atomic copies it.
struct Move : ListNode {
  Link* link = nullptr;
  transport::Completion* completion = nullptr;
  transport::Payload local{};  ///< what is not posted yet
  Region* region = nullptr;    ///< of the local memory
  transport::Blocks remote;
  std::uint64_t offset = 0;  ///< of the next byte to post, in the remote stream
  std::uint32_t rkey = 0;
  std::uint32_t under_way = 0;  ///< its work requests under way
  bool write = false;           ///< a put
  Status status = Status::ok;
  std::uint64_t* result = nullptr;  ///< where an atomic's old value goes; null: no atomic
  std::uint32_t slot = 0;           ///< an atomic's, in Shared::words
};

/// A get or a put that the contract asks for.
struct Wanted {
  bool write;
  const transport::Payload& local;
  const transport::Key& key;
  std::uint64_t offset;
  transport::Completion* completion;
  const transport::Header* finish;  ///< get_finish: the header of the packet that ends the key; else null
};

class Moves {
 public:
  explicit Moves(Shared& shared) noexcept : shared_(shared) {}
  /// Starts a get or a put. ok: there was nothing to move. in_progress: the completion will be called.
  /// no_resource: nothing changed. Other errors: as of the contract's get.
  Status start(Link& link, const Wanted& wanted) noexcept;
  /// Starts an atomic. The answers are those of the contract's atomic, but never ok.
  Status start_atomic(Link& link, const transport::Atomic& atomic, const transport::Key& key,
                      transport::Completion* completion) noexcept;
  /// A work request of the move completed. After the last one under way, goes on with the move or ends it.
  void piece_done(Move& move, ibv_wc_status status) noexcept;
  /// Goes on with all stalled moves.
  void resume_stalled() noexcept;
  /// Ends all stalled moves, whose links must be dying. Calls no completions.
  void drop_stalled() noexcept;
  /// Calls the completions of up to `budget` moves that ended; returns how many.
  unsigned deliver_ended(unsigned budget) noexcept;
  bool has_ended() const noexcept { return !ended_.empty(); }
  bool has_stalled() const noexcept { return !stalled_.empty(); }
  /// Whether a move of this link is stalled.
  bool is_stalled(const Link& link) noexcept;
  bool are_under_way() const noexcept { return under_way_ > 0; }

 private:
  /// Work requests of one move from which on it posts no more at once: others of the link need room, too.
  static constexpr unsigned kMostUnderWay = kSendDepth / 2;

  Move* take() noexcept;
  void give(Move& move) noexcept { free_.push_back(&move); }
  Status advance(Move& move, const transport::Header* finish) noexcept;
  bool add_finish(Move& move, const transport::Header& finish, Chain& chain) noexcept;
  void advance_further(Move& move) noexcept;
  void resume(Move& move) noexcept;
  void end(Move& move) noexcept;
  void end_atomic(Move& move) noexcept;
  /// Counts `requests` work requests of the move that are about to be posted.
  void count(Move& move, std::uint32_t requests) noexcept {
    move.under_way += requests;
    under_way_ += requests;
  }

  Shared& shared_;
  std::uint32_t under_way_ = 0;  // work requests of all moves
  std::vector<std::unique_ptr<Move[]>> blocks_;
  IntrusiveList<Move> free_;
  IntrusiveList<Move> ended_;
  IntrusiveList<Move> stalled_;
};

}  // namespace stria::verbs
