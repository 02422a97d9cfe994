// A pipeline needs its sender inside the library. One that is silent may be computing: then the receiver, if
// it has the sender's key, reads from the end of the message towards the fragments, a slice at a time, until
// the two meet. So the sender's leaving costs a few microseconds, and its coming back is no loss: the slices
// that remain are shared by both.
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

constexpr std::uint64_t kFirstSlice =
    std::uint64_t{32} * 1024;             // 4.5 us by get: a sender that waits for us notices nothing
constexpr unsigned kDoublings = 2;        // then 128 KiB: 12 us
constexpr std::uint32_t kLookEvery = 16;  // rounds of progress(); one without traffic takes 50 ns

std::uint16_t now_us() noexcept {
  return static_cast<std::uint16_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

/// Of the link, not of one operation: a sender of many messages sends them in turn. The provider was asked
/// for packets just before, so what is not there now was not sent, or waits behind much else.
bool Reader::is_silent(transport::Silence& silence, std::uint32_t patience_us) noexcept {
  const std::uint16_t now = now_us();
  if (silence.heard) {
    silence.since = now;
    silence.slices = 0;
  }
  silence.heard = false;
  return static_cast<std::uint16_t>(now - silence.since) >= patience_us;
}

/// Now and then looks for a silent link, and reads one slice of its first receive: then the provider has to
/// be asked again. True when something moved.
bool Reader::help() noexcept {
  if (++rounds_ % kLookEvery != 0) return false;
  IntrusiveList<Operation>& helpers = operations_.helpers();
  for (Operation* next = helpers.front(); next != nullptr;) {
    auto& op = static_cast<RecvOp&>(*next);
    next = helpers.next(next);
    if (op.in_flight) continue;
    if (op.refused) get_was_refused(op);
    // A slice that was in flight was the last thing missing, or waited for.
    if (op.failed || op.outcome != Status::ok || op.moved >= tail_of(op)) {
      ends_.end_receiving(op);
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

/// A slice of the end came, or did not. A sender that ended the operation, and its key with it, has sent all
/// its fragments: then they are on their way. One whose begin is put, and not sent, does not end it.
void Reader::helped(RecvOp& op, Status status) noexcept {
  if (status == Status::ok) {
    op.tail -= op.slice_bytes;
    return;
  }
  op.helps = false;
  if (op.sink_key_bytes != 0 && status != Status::unsupported && op.outcome == Status::ok)
    op.outcome = outcome_of_get(status);
}

bool Reader::read_slice(RecvOp& op) noexcept {
  transport::Silence& silence = op.link->silence;
  pass_ahead(op);
  const Status status = read_end(op, std::min(kFirstSlice << silence.slices, op.tail - op.moved));
  if (status == Status::in_progress) return true;
  if (status == Status::no_resource) return false;
  if (silence.slices < kDoublings) ++silence.slices;
  if (op.moved >= op.tail) ends_.end_receiving(op);
  return true;
}

/// The last `bytes` of what was not read yet.
Status Reader::read_end(RecvOp& op, std::uint64_t bytes) noexcept {
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
  helped(op, status);
  return status;
}

/// The rest comes as fragments, or by the next RTR (share.cpp).
void Reader::get_was_refused(RecvOp& op) noexcept {
  op.refused = false;
  owner_.refused(*op.link);
}

/// What came up to the tail need not be read.
void Reader::pass_ahead(RecvOp& op) noexcept {
  if (op.ahead != nullptr) op.tail = op.ahead->reaching(op.tail);
}

}  // namespace stria::rndv
