// Gets, puts and atomics under way: posted piece by piece as there is room, over when the last piece
// completed. The adapter reads and writes, this process only describes.
//
//   free ── start ──► under way ── last piece ──► ended ── deliver_ended: the completion is called ──► free
//                        │  ▲
//                        ▼  │ resume_stalled: there may be room
//                      stalled
//
// A link's end completes its pieces; what waits for room ends when it is resumed. Nothing here makes an
// upcall but deliver_ended.
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

/// An atomic is one piece, with a slot of the adapter's memory for what the word was.
struct Move : ListNode {
  Link* link = nullptr;
  transport::Completion* completion = nullptr;
  transport::Payload local{};
  Region* region = nullptr;
  transport::Blocks remote;
  std::uint64_t offset = 0;  ///< of the next byte in the remote stream
  std::uint32_t rkey = 0;
  std::uint32_t under_way = 0;  ///< work requests
  bool write = false;
  Status status = Status::ok;
  std::uint64_t* result = nullptr;  ///< of an atomic
  std::uint32_t slot = 0;           ///< of Shared::words, for it
};

/// A get or a put, as the contract asks for it.
struct Wanted {
  bool write;
  const transport::Payload& local;
  const transport::Key& key;
  std::uint64_t offset;
  transport::Completion* completion;
  const transport::Header* finish;  ///< of a packet behind it that ends the key, or null
};

class Moves {
 public:
  explicit Moves(Shared& shared) noexcept : shared_(shared) {}
  Status start(Link& link, const Wanted& wanted) noexcept;
  Status start_atomic(Link& link, const transport::Atomic& atomic, const transport::Key& key,
                      transport::Completion* completion) noexcept;
  /// One of its requests completed.
  void piece_done(Move& move, ibv_wc_status status) noexcept;
  /// Goes on with those that found no room.
  void resume_stalled() noexcept;
  /// Ends those that found no room, of links that are dead, untold.
  void drop_stalled() noexcept;
  /// Calls the completions of up to `budget` that ended; returns how many.
  unsigned deliver_ended(unsigned budget) noexcept;
  bool has_ended() const noexcept { return !ended_.empty(); }
  bool has_stalled() const noexcept { return !stalled_.empty(); }
  bool is_stalled(const Link& link) noexcept;
  bool are_under_way() const noexcept { return under_way_ > 0; }

 private:
  static constexpr unsigned kMostUnderWay = kSendDepth / 2;  // of one move: others want room too

  Move* take() noexcept;
  void give(Move& move) noexcept { free_.push_back(&move); }
  Status advance(Move& move, const transport::Header* finish) noexcept;
  bool add_finish(Move& move, const transport::Header& finish, Chain& chain) noexcept;
  void advance_further(Move& move) noexcept;
  void resume(Move& move) noexcept;
  void end(Move& move) noexcept;
  void end_atomic(Move& move) noexcept;
  /// So many requests of it are about to be posted.
  void count(Move& move, std::uint32_t requests) noexcept {
    move.under_way += requests;
    under_way_ += requests;
  }

  Shared& shared_;
  std::uint32_t under_way_ = 0;  // work requests of all
  std::vector<std::unique_ptr<Move[]>> blocks_;
  IntrusiveList<Move> free_;
  IntrusiveList<Move> ended_;
  IntrusiveList<Move> stalled_;
};

}  // namespace stria::verbs
