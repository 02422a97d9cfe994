// Atomics that the peer's adapter performs: one work request each. The word's old value arrives in a slot of
// registered memory, in this host's byte order, and is copied from there. As with reads, the adapter holds
// atomics back that would be more at a time than it and its peer agreed on (max_rd_atomic). An atomic whose
// answer was lost is not performed again.
#include <cstring>

#include "transport/atomic_word.hpp"
#include "transport/verbs/link.hpp"
#include "transport/verbs/moves.hpp"

namespace stria::verbs {

using transport::kWordBytes;

Status Moves::start_atomic(Link& link, const transport::Atomic& atomic, const transport::Key& key,
                           transport::Completion* completion) noexcept {
  if (link.dying) return Status::peer_failed;
  if (!shared_.can.has_atomics) return Status::unsupported;
  KeyContent data;
  if (!read_key(key, data)) return Status::access_error;
  if ((data.access & STRIA_ACCESS_REMOTE_ATOMIC) == 0 || data.memory.bytes < kWordBytes ||
      atomic.offset > data.memory.bytes - kWordBytes)
    return Status::access_error;
  const Span run = run_at(data.memory, atomic.offset);
  if (run.bytes < kWordBytes || run.begin % kWordBytes != 0) return Status::invalid;
  if (!link.ready() || link.queue().do_binds_wait() || !link.queue().has_room(1)) return Status::no_resource;
  const std::uint32_t slot = shared_.words.take();
  if (slot == SendSlots::kNone) return Status::no_resource;
  Move* const move = take();
  if (move == nullptr) {
    shared_.words.give(slot);
    return Status::no_resource;
  }
  *move = {};
  move->link = &link;
  move->completion = completion;
  move->result = atomic.result;
  move->slot = slot;
  ibv_sge piece{reinterpret_cast<std::uint64_t>(shared_.words.at(slot)), kWordBytes, shared_.words.lkey()};
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.wr.atomic.remote_addr = run.begin;
  request.wr.atomic.rkey = data.rkey;
  if (atomic.op == STRIA_ATOMIC_FETCH_ADD) {
    request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    request.wr.atomic.compare_add = atomic.operand;
  } else {
    request.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
    request.wr.atomic.compare_add = atomic.compare;
    request.wr.atomic.swap = atomic.operand;
  }
  const Entry entry{Entry::Doing::move, 0, move};
  count(*move, 1);
  // If the request is refused, the link dies, and ends the move.
  static_cast<void>(link.queue().post(&request, &entry, 1, true));
  return Status::in_progress;
}

/// Copies the word's old value to the caller, if the atomic succeeded, and gives the slot back.
void Moves::end_atomic(Move& move) noexcept {
  if (move.status == Status::ok) std::memcpy(move.result, shared_.words.at(move.slot), kWordBytes);
  shared_.words.give(move.slot);
}

}  // namespace stria::verbs
