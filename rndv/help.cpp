// How a receiver helps a pipeline whose sender is silent. A pipeline needs the sender inside the library, and
// a silent sender may be computing. If the receiver has the sender's key, it then reads from the end of the
// message towards the fragments, a slice at a time, until the two meet. So a sender that leaves costs a few
// microseconds, and when it comes back, both sides bring the slices that remain.
//
//   sender   ── RTS{length, op, key} ──►  receiver: match
//            ◄── RTR ──                             silence: get of the last slice, of the one before, …
//            ── FRAG 0 ──►  ── FRAG 1 ──►  …        met: what is still under way is dropped
//            complete, key dead ◄── FIN + invalidate ──
#include <algorithm>
#include <chrono>

#include "rndv/reader.hpp"
#include "transport/payload.hpp"

namespace stria::rndv {
namespace {

/// Bytes of the first slice, so few that a sender that waits for this receiver notices no delay.
constexpr std::uint64_t kFirstSlice = std::uint64_t{32} * 1024;
/// How often the slice doubles while the link stays silent.
constexpr unsigned kDoublings = 2;
/// Rounds of progress() from one search for a silent link to the next.
constexpr std::uint32_t kSearchEvery = 16;

std::uint16_t now_us() noexcept {
  return static_cast<std::uint16_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

/// Whether no fragment has come by the link for `patience_us`. Silence is counted for the link, not for one
/// operation: a sender of many messages sends them in turn. The provider was polled just before, so a
/// fragment that is not there now was not sent, or waits behind much else.
bool Reader::is_silent(transport::Silence& silence, std::uint32_t patience_us) noexcept {
  const std::uint16_t now = now_us();
  if (silence.heard) {
    silence.since = now;
    silence.slices = 0;
  }
  silence.heard = false;
  return static_cast<std::uint16_t>(now - silence.since) >= patience_us;
}

bool Reader::help() noexcept {
  if (++rounds_ % kSearchEvery != 0) return false;
  IntrusiveList<Operation>& helpers = operations_.helpers();
  for (Operation* next = helpers.front(); next != nullptr;) {
    auto& op = static_cast<RecvOp&>(*next);
    next = helpers.next(next);
    if (op.in_flight) continue;
    if (op.get_refused) get_was_refused(op);
    // The slice that was in flight brought the last missing bytes, or the end of the receive had to wait for
    // it.
    if (op.failed || op.outcome != Status::ok || op.moved >= tail_of(op)) {
      finisher_.end_receiving(op);
      return true;
    }
    if (!op.helps) {
      operations_.deactivate(op);
      continue;
    }
    if (is_silent(op.link->silence, options_.patience_us) && read_slice(op)) return true;
  }
  return false;
}

/// Handles the end of a get by read_tail(). When the get failed, the receive only stops reading: a sender
/// that ended the operation, and its key with it, has sent all its fragments, so they are on their way. But
/// where the sender puts the begin of the message instead of sending it, a failed get ends the receive.
void Reader::tail_get_ended(RecvOp& op, Status status) noexcept {
  if (status == Status::ok) {
    op.tail -= op.slice_bytes;
    return;
  }
  op.helps = false;
  if (op.sink_key_bytes != 0 && status != Status::unsupported && op.outcome == Status::ok)
    op.outcome = outcome_of_get(status);
}

/// Reads the next slice at the end of the message. The slices grow while the link stays silent. True when
/// something moved.
bool Reader::read_slice(RecvOp& op) noexcept {
  transport::Silence& silence = op.link->silence;
  skip_received(op);
  const Status status = read_tail(op, std::min(kFirstSlice << silence.slices, op.tail - op.moved));
  if (status == Status::in_progress) return true;
  if (status == Status::no_resource) return false;
  if (silence.slices < kDoublings) ++silence.slices;
  if (op.moved >= op.tail) finisher_.end_receiving(op);
  return true;
}

/// Starts a get of the last `bytes` bytes that were not read yet. Any answer but in_progress and no_resource:
/// the get has ended.
Status Reader::read_tail(RecvOp& op, std::uint64_t bytes) noexcept {
  const std::uint64_t at = op.tail - bytes;
  transport::Key key;
  op.key.copy_to(key);
  op.done = &Reader::on_get_done;
  op.slice_bytes = static_cast<std::uint32_t>(bytes);
  op.in_flight = true;
  const Status status = op.link->get(transport::slice(op.memory, at, bytes), key, at, &op);
  if (status == Status::in_progress) return status;
  op.in_flight = false;
  if (status == Status::no_resource) return status;
  if (status == Status::unsupported) get_was_refused(op);
  tail_get_ended(op, status);
  return status;
}

/// Tells the owner that the provider refused the get. The rest comes as fragments; a receive that is mapped
/// by both asks for them by another RTR (mapped_both.cpp).
void Reader::get_was_refused(RecvOp& op) noexcept {
  op.get_refused = false;
  owner_.refused(*op.link);
}

/// Moves op.tail to the begin of the bytes that have come up to it: they need not be read.
void Reader::skip_received(RecvOp& op) noexcept {
  if (op.reassembly != nullptr) op.tail = op.reassembly->begin_of_range_up_to(op.tail);
}

}  // namespace stria::rndv
