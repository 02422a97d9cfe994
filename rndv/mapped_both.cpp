// The scheme mapped by both: two cores copy one message between memories that both processes map, each byte
// once. The receiver reads from the end of the message through the sender's key, by loads, a piece at a time;
// the sender puts its part, the first half, through the receiver's key, by stores, and tells the receiver of
// each piece by a fragment without a payload. When one side leaves the library, the other goes on: a receiver
// that has read its half reads on towards the bytes that the sender has put, and also reads the bytes that a
// sender that left would have put.
//
//   sender   fast_register ── RTS{length, op, key} ──►  receiver: match, fast_register
//            ◄── RTR{first half, piece, key} ──
//            FRAG ──►  put ── FRAG 0 ──►  put ──►  …    get of the last piece, of the one before, …
//                                                       met: all bytes are there
//            complete, key dead ◄── FIN + invalidate ── own key dead, complete
//
// A piece may be copied by both sides: the bytes are the same. The receive is complete when its own key is
// dead, and ending that key waits for a put that is under way. A put that comes later is refused, and its
// sender waits for the FIN.
#include <algorithm>

#include "rndv/reader.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {

namespace {

constexpr std::uint32_t kKibPerUs = 4;  // a put that is slower was interrupted

}  // namespace

bool Reader::step_mapped_both(RecvOp& op) noexcept {
  if (op.in_flight) return false;
  if (op.get_refused) get_was_refused(op);
  if (op.failed || op.outcome != Status::ok || op.moved >= op.tail) {
    finisher_.end_receiving(op);
    return true;
  }
  skip_received(op);
  if (!op.helps) return go_on_without_get(op);
  const std::uint64_t piece = op.fragment_bytes, missing = op.tail - op.moved;
  const std::uint64_t at_work = std::min(piece, senders_part(op.length, op.fragment_bytes) - op.moved);
  std::uint64_t bytes = std::min(piece, missing - std::min(missing, at_work));
  if (bytes == 0) {
    const std::uint32_t patience_us =
        options_.patience_us + (op.put_begun ? op.fragment_bytes / 1024 / kKibPerUs : 0);
    if (!is_silent(op.link->silence, patience_us)) return false;
    bytes = missing;
  }
  if (read_tail(op, bytes) == Status::no_resource) return false;
  if (!op.in_flight && op.moved >= op.tail) finisher_.end_receiving(op);
  return true;
}

/// The provider refuses gets: the sender packs the rest, once it has put its own part.
bool Reader::go_on_without_get(RecvOp& op) noexcept {
  if (op.moved < senders_part(op.length, op.fragment_bytes)) {
    operations_.deactivate(op);  // activated again when the sender tells of its next piece
    return false;
  }
  end_offered_key(op);
  op.fragment_bytes = 0;
  op.state = Operation::State::rtr_due;
  return requests_.send_rtr(op);
}

}  // namespace stria::rndv
