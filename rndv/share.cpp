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

#include "rndv/reader.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

namespace {

constexpr std::uint32_t kKibPerUs = 4;  // a put that takes longer was interrupted

}  // namespace

/// Reads what is left of the end, but not the piece that the sender is at, unless it is silent.
bool Reader::step_sharing(RecvOp& op) noexcept {
  if (op.in_flight) return false;
  if (op.refused) get_was_refused(op);
  if (op.failed || op.outcome != Status::ok || op.moved >= op.tail) {
    ends_.end_receiving(op);
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
  if (!op.in_flight && op.moved >= op.tail) ends_.end_receiving(op);
  return true;
}

/// The get was refused: the sender packs the rest, once its own part is done.
bool Reader::go_on_without_get(RecvOp& op) noexcept {
  if (op.moved < senders_part(op.length, op.fragment_bytes)) {
    operations_.deactivate(op);  // the next piece brings it back
    return false;
  }
  end_offered_key(op);
  op.fragment_bytes = 0;
  op.state = Operation::State::rtr_due;
  return requests_.ask(op);
}

}  // namespace stria::rndv
