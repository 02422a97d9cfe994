// Atomics by the peer's adapter: one work request each. What the word was comes into a slot of registered
// memory, in this host's byte order, and is copied from there. As with reads the adapter holds back those
// that would be more than it and its peer agreed on (max_rd_atomic), and repeats none that was performed.
#include <cstring>

#include "transport/atomic_word.hpp"
#include "transport/verbs/device.hpp"
#include "transport/verbs/link.hpp"

namespace stria::verbs {

using transport::kWordBytes;

Status Link::atomic(const transport::Atomic& atomic, const transport::Key& key,
                    transport::Completion* completion) noexcept {
  if (dying) return Status::peer_failed;
  if (!device_.has_atomics()) return Status::unsupported;
  KeyContent data;
  if (!read_key(key, data)) return Status::access_error;
  if ((data.access & STRIA_ACCESS_REMOTE_ATOMIC) == 0 || data.memory.bytes < kWordBytes ||
      atomic.offset > data.memory.bytes - kWordBytes)
    return Status::access_error;
  const Span run = run_at(data.memory, atomic.offset);
  if (run.bytes < kWordBytes || run.begin % kWordBytes != 0) return Status::invalid;
  if (!ready_ || binds_wait_ || !has_room(1)) return Status::no_resource;
  const std::uint32_t slot = device_.words().take();
  if (slot == SendSlots::kNone) return Status::no_resource;
  Move* const move = device_.take_move();
  if (move == nullptr) {
    device_.words().give(slot);
    return Status::no_resource;
  }
  *move = {};
  move->link = this;
  move->completion = completion;
  move->under_way = 1;
  move->result = atomic.result;
  move->slot = slot;
  ibv_sge piece{reinterpret_cast<std::uint64_t>(device_.words().at(slot)), kWordBytes,
                device_.words().lkey()};
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
  const Entry entry{Doing::move, 0, move};
  ++pieces_;
  ++device_.moves_under_way;
  static_cast<void>(post(&request, &entry, 1, true));  // refused: the link dies, and ends the move
  return Status::in_progress;
}

void Link::end_atomic(Move& move) noexcept {
  if (move.status == Status::ok) std::memcpy(move.result, device_.words().at(move.slot), kWordBytes);
  device_.words().give(move.slot);
}

}  // namespace stria::verbs
