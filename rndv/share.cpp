// The scheme both: two cores copy one message through the kernel, each byte once. The receiver reads from the
// end of the message through the sender's key, a piece at a time; the sender puts its part, the first half,
// through the receiver's key, and tells of each piece by a fragment without bytes. Whoever is inside the
// library goes on: a receiver that has read its half reads on towards what the sender has put, and what one
// that left would have put.
//
//   sender   fast_register ── RTS{length, op, key} ──►  receiver: match, fast_register
//            ◄── RTR{first half, piece, key} ──
//            FRAG ──►  put ── FRAG 0 ──►  put ──►  …    get of the last piece, of the one before, …
//                                                       met: all bytes are there
//            complete, key dead ◄── FIN + invalidate ── own key dead, complete
//
// A piece may be copied by both: the bytes are the same. The receive is complete when its own key is dead,
// which waits for a put that is under way; one that comes later is refused, and its sender waits for the FIN.
#include <algorithm>
#include <utility>

#include "rndv/engine.hpp"
#include "rndv/fragmenting.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

namespace {

constexpr std::uint32_t kKibPerUs = 4;  // a put that takes longer was interrupted

}  // namespace

/// The key travels in an RTR, which has to go by the window: beside others' memory there may be no room. A
/// long one may not fit there even so (offer_key()).
bool Engine::can_share(const transport::LinkRef& link, bool mapped) const noexcept {
  return options_.shares && (link.can_put || mapped) && !link.offload &&
         link.pio_below > sizeof(wire::RtrBody) + StoredKey::kInside;
}

/// Makes the receiver's key; `mapped`: to memory that the sender maps. False: there is none, or no room for
/// it.
bool Engine::offer_key(RecvOp& op, bool mapped) noexcept {
  transport::Key key;
  if (op.memory.offset != 0) return false;  // a key is to all of the memory
  const unsigned access = STRIA_ACCESS_REMOTE_WRITE | (mapped ? STRIA_REGISTER_MAPPED : 0u);
  if (op.link->fast_register(op.memory, access, key) != Status::ok) return false;
  const bool fits = op.link->pio_below > sizeof(wire::RtrBody) + key.bytes;
  if (!fits || !op.key.set_second(keys_, key.data, key.bytes)) {
    static_cast<void>(op.link->invalidate(key));
    return false;
  }
  op.sink_key_bytes = static_cast<std::uint8_t>(key.bytes);
  return true;
}

void Engine::end_offered_key(RecvOp& op) noexcept {
  static_cast<void>(op.link->invalidate(op.key.second(op.sink_key_bytes)));
  op.sink_key_bytes = 0;
}

/// Reads what is left of the end, but not the piece that the sender is at, unless it is silent.
bool Engine::step_sharing(RecvOp& op) noexcept {
  if (op.in_flight) return false;
  if (op.refused) get_was_refused(op);
  if (op.failed || op.outcome != Status::ok || op.moved >= op.tail) {
    end_receiving(op);
    return true;
  }
  pass_ahead(op);
  if (!op.helps) return go_on_without_get(op);
  const std::uint64_t piece = op.fragment_bytes, all = op.tail - op.moved;
  const std::uint64_t at_work = std::min(piece, senders_part(op.length, op.fragment_bytes) - op.moved);
  std::uint64_t bytes = std::min(piece, all - std::min(all, at_work));
  if (bytes == 0) {
    const std::uint32_t patience_us =
        options_.patience_us + (op.begun ? op.fragment_bytes / 1024 / kKibPerUs : 0);
    if (!is_silent(op.link->silence, patience_us)) return false;
    bytes = all;
  }
  if (read_end(op, bytes) == Status::no_resource) return false;
  if (!op.in_flight && op.moved >= op.tail) end_receiving(op);
  return true;
}

/// The get was refused: the sender packs the rest, once its own part is done.
bool Engine::go_on_without_get(RecvOp& op) noexcept {
  if (op.moved < senders_part(op.length, op.fragment_bytes)) {
    deactivate(op);  // the next piece brings it back
    return false;
  }
  end_offered_key(op);
  op.fragment_bytes = 0;
  op.state = Operation::State::rtr_due;
  return step_rtr(op);
}

/// More of the begin is there.
void Engine::moved_on(RecvOp& op) noexcept {
  if (op.moved >= tail_of(op) && !op.in_flight)
    end_receiving(op);
  else if (op.sink_key_bytes != 0)
    activate(op);
}

/// Puts one piece, or tells of it.
bool Engine::step_putting(SendOp& op) noexcept {
  if (op.in_flight) return false;
  if (!op.failed && !op.untold) {
    Status status = std::exchange(op.outcome, Status::ok);  // of a put that ended meanwhile
    if (status == Status::ok) status = put_piece(op);
    if (status == Status::in_progress) return true;
    if (status == Status::no_resource) return false;
    was_put(op, status);
  }
  if (op.failed) {
    finish(op);
    return true;
  }
  return !op.untold || tell_piece(op);
}

Status Engine::put_piece(SendOp& op) noexcept {
  // Without room for it the receiver takes us for silent, and copies for itself what we do.
  if (!op.begun)
    static_cast<void>(op.link->send_control(wire::make_fragment(op.peer_op, wire::kPutting), nullptr, 0));
  op.begun = true;
  const std::uint64_t bytes = std::min<std::uint64_t>(op.fragment_bytes, op.length - op.moved);
  op.done = &Engine::on_put_done;
  op.in_flight = true;
  const Status status = op.link->put(transport::slice(op.memory, op.moved, bytes),
                                     op.key.second(op.sink_key_bytes), op.moved, &op);
  op.in_flight = status == Status::in_progress;
  return status;
}

bool Engine::tell_piece(SendOp& op) noexcept {
  const Status told = op.link->send_control(wire::make_fragment(op.peer_op, op.moved), nullptr, 0);
  if (told == Status::no_resource) return false;
  if (told != Status::ok) {
    op.outcome = told;
    finish(op);
    return true;
  }
  op.untold = false;
  op.moved += std::min<std::uint64_t>(op.fragment_bytes, op.length - op.moved);
  if (op.moved == op.length) wait_for_fin(op);
  return true;
}

void Engine::wait_for_fin(SendOp& op) noexcept {
  op.state = Operation::State::waiting;
  deactivate(op);
}

/// What became of a put; the operation is in the active list.
void Engine::was_put(SendOp& op, Status status) noexcept {
  switch (status) {
    case Status::ok:
      op.untold = true;
      break;
    case Status::access_error:  // the receiver has it all
      wait_for_fin(op);
      break;
    case Status::unsupported:  // the rest of the part goes packed
      was_refused(*op.link);
      op.sink_key_bytes = 0;
      op.fragment_bytes = cut(op.fragment_bytes, fragment_max(op));
      break;
    default:
      op.outcome = status;
      op.failed = true;
      break;
  }
}

void Engine::on_put_done(stria_completion_t* completion, stria_status_t status) noexcept {
  auto& op = static_cast<SendOp&>(*completion);
  op.in_flight = false;
  if (op.failed) return;  // step_putting() ends it, or goes on
  op.untold = status == STRIA_OK;
  if (!op.untold) op.outcome = transport::from_c(status);
}

}  // namespace stria::rndv
