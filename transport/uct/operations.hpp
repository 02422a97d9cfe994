// The operations that UCX performs asynchronously: packets out of the worker's memory, gets, puts and
// atomics. Each operation has a slot, which contains UCX's completion structure. UCX may call a completion
// from inside any of its functions, so an ended operation is queued, and the worker's completion is called
// from the next call of progress.
//
//   free ── take ──► under way, in the link's list ── UCX or the end of the link ──► ended ── report ──► free
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

/// A part of a get that arrives in a buffer of UCX, and the local memory that it is unpacked into.
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
  // The rest is for gets and puts (moves.hpp); atomics use the key as well.
  bool writes = false;         ///< true: a put, false: a get
  bool wants_flush = false;    ///< puts by buffers of UCX have no completion: only a flush tells their end
  bool finishes = false;       ///< a packet that ends the peer's key follows the get
  bool has_key = false;        ///< `key` is unpacked and has to be released
  uct_mem_h memory = nullptr;  ///< registration of the local memory; null: all goes by buffers of UCX
  uct_rkey_bundle_t key{};
  transport::Payload local{};  ///< the part of the local memory that no request was posted for yet
  transport::Blocks remote;
  std::uint64_t offset = 0;    ///< where that part begins in the packed stream of `remote`, in bytes
  Piece* pieces = nullptr;     ///< list of all pieces of the operation
  std::uint32_t key_name = 0;  ///< of the peer's key that the packet `finish` ends
  transport::Header finish{};  ///< header of that packet, if `finishes`
  Operation* next_stalled = nullptr;
};

class Operations {
 public:
  explicit Operations(Shared& shared) noexcept : shared_(shared) {}
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;

  /// Takes a slot for an operation of the link, which then counts as under way. UCX subtracts 1 from `count`
  /// at the end of each request, and the operation ends at 0. Null: out of memory.
  Operation* take(Link& link, transport::Completion* completion, int count) noexcept;
  /// Frees the slot without calling the worker's completion: the operation did not begin, or it is done
  /// already.
  void give_back(Operation& operation) noexcept;
  /// Adds a piece to the operation, which has it until its slot is freed. Null: out of memory.
  Piece* take_piece(Operation& operation) noexcept;
  /// Frees the piece that the operation took last.
  void give_back_piece(Operation& operation) noexcept;
  /// Queues an operation that has ended; report() calls its completion.
  void end(Operation& operation, Status status) noexcept;

  bool have_ended() const noexcept { return !ended_.empty(); }
  /// Calls the completions of up to `budget` ended operations; returns how many. A get whose following packet
  /// finds no room stays queued: its peer may stand still for long, and operations of other peers do not wait
  /// for it.
  unsigned report(unsigned budget) noexcept;
  /// Ends the operations that are under way on a link, and calls the completions of all its ended operations.
  /// UCX touches none of the operations any more, as their endpoint is destroyed.
  void abandon(Link& link) noexcept;
  /// Releases the registrations and keys of all operations. Called before the domain is closed. Calls no
  /// completion.
  void close() noexcept;

 private:
  static void ended_by_ucx(uct_completion_t* self) noexcept;
  void release(Operation& operation) noexcept;
  bool finish(Operation& operation) noexcept;
  bool report(Operation& operation) noexcept;

  Shared& shared_;
  std::deque<Operation> all_;  // a deque, so that slots do not move
  std::deque<Piece> all_pieces_;
  Piece* free_pieces_ = nullptr;
  IntrusiveList<Operation> free_;
  IntrusiveList<Operation> ended_;  // in the order of their ends
};

}  // namespace stria::uct
