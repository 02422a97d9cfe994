// What UCX has under way for the worker: packets out of its memory, gets, puts and atomics. Each has a slot
// with UCX's completion in it. UCX calls that from wherever it is, so the worker hears of the end from the
// next call of progress.
//
//   free ── take ──► under way, in its link's list ── UCX, or the end of the link ──► ended ── report ──►
//   free
#pragma once

#include <uct/api/uct.h>

#include <cstddef>
#include <cstdint>
#include <deque>

#include "base/intrusive_list.hpp"
#include "transport/blocks.hpp"
#include "transport/contract.hpp"
#include "transport/uct/shared.hpp"

namespace stria::uct {

class Link;
struct Operation;

/// A part of a get that comes by a buffer of UCX, and where it goes.
struct Piece {
  Piece* next = nullptr;
  const stria_services_t* services = nullptr;
  transport::Payload local{};
};

struct Operation : uct_completion_t, ListNode {
  transport::Completion* completion = nullptr;
  Link* link = nullptr;
  Status result = Status::ok;
  bool is_under_way = false;
  // Of a get or put (moves.hpp).
  bool writes = false;
  bool wants_flush = false;  ///< what went by buffers of UCX has no completion of its own
  bool finishes = false;     ///< a packet that ends the key follows a get
  bool has_key = false;
  uct_mem_h memory = nullptr;  ///< of the local memory; null: it goes by buffers of UCX
  uct_rkey_bundle_t key{};
  transport::Payload local{};  ///< what is still to be asked for
  transport::Blocks remote;
  std::uint64_t offset = 0;  ///< of it in the remote stream
  Piece* pieces = nullptr;
  std::uint32_t key_name = 0;
  transport::Header finish{};
  Operation* next_stalled = nullptr;
};

class Operations {
 public:
  explicit Operations(Shared& shared) noexcept : shared_(shared) {}
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  /// One of the link, under way, that UCX ends when it has called its completion once for each of `count`.
  /// Null: there is no memory.
  Operation* take(Link& link, transport::Completion* completion, int count) noexcept;
  /// It was not begun, or is done at once.
  void give_back(Operation& operation) noexcept;
  /// For the operation, until it ends. Null: there is no memory.
  Piece* take_piece(Operation& operation) noexcept;
  /// The last one that was taken.
  void give_back_piece(Operation& operation) noexcept;
  void end(Operation& operation, Status status) noexcept;

  bool have_ended() const noexcept { return !ended_.empty(); }
  /// Calls the completions of up to `budget` operations; returns how many.
  unsigned report(unsigned budget) noexcept;
  /// UCX has forgotten the link's endpoint: ends what is under way on it, and calls its completions.
  void abandon(Link& link) noexcept;
  /// Gives back what UCX has lent, before its domain is closed. Calls no completion.
  void close() noexcept;

 private:
  static void ended_by_ucx(uct_completion_t* self) noexcept;
  void release(Operation& operation) noexcept;
  bool finish(Operation& operation) noexcept;
  bool report(Operation& operation) noexcept;

  Shared& shared_;
  std::deque<Operation> all_;  // they do not move
  std::deque<Piece> all_pieces_;
  Piece* free_pieces_ = nullptr;
  IntrusiveList<Operation> free_;
  IntrusiveList<Operation> ended_;  // in the order of their ends
};

}  // namespace stria::uct
