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

#include "rndv/engine.hpp"
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
bool Engine::is_silent(transport::Silence& silence, std::uint32_t patience_us) noexcept {
  const std::uint16_t now = now_us();
  if (silence.heard) {
    silence.since = now;
    silence.slices = 0;
  }
  silence.heard = false;
  return static_cast<std::uint16_t>(now - silence.since) >= patience_us;
}

/// The RTR is out. A receive that cannot help is advanced by packets alone.
void Engine::wait_for_fragments(RecvOp& op) noexcept {
  deactivate(op);
  if (!op.remote_half) op.tail = op.length;
  op.ahead = nullptr;
  op.state = Operation::State::receiving;
  if (op.sink_key_bytes != 0) {
    op.link->silence.heard = true;
    activate(op);
    return;
  }
  if (!op.helps) return;
  op.link->silence.heard = true;  // patience begins now
  activate_in(helpers_, op);
}

/// Now and then looks for a silent link, and reads one slice of its first receive: then the provider has to
/// be asked again. True when something moved.
bool Engine::help() noexcept {
  if (++rounds_ % kLookEvery != 0) return false;
  for (Operation* next = helpers_.front(); next != nullptr;) {
    auto& op = static_cast<RecvOp&>(*next);
    next = helpers_.next(next);
    if (op.in_flight) continue;
    if (op.refused) get_was_refused(op);
    // A slice that was in flight was the last thing missing, or waited for.
    if (op.failed || op.outcome != Status::ok || op.moved >= tail_of(op)) {
      end_receiving(op);
      return true;
    }
    if (!op.helps) {
      deactivate(op);
      continue;
    }
    if (is_silent(op.link->silence, options_.patience_us) && read_slice(op)) return true;
  }
  return false;
}

/// A slice of the end came, or did not. A sender that ended the operation, and its key with it, has sent all
/// its fragments: then they are on their way. One whose begin is put, and not sent, does not end it.
void Engine::helped(RecvOp& op, Status status) noexcept {
  if (status == Status::ok) {
    op.tail -= op.slice_bytes;
    return;
  }
  op.helps = false;
  if (op.sink_key_bytes != 0 && status != Status::unsupported && op.outcome == Status::ok)
    op.outcome = outcome_of_get(status);
}

bool Engine::read_slice(RecvOp& op) noexcept {
  transport::Silence& silence = op.link->silence;
  pass_ahead(op);
  const Status status = read_end(op, std::min(kFirstSlice << silence.slices, op.tail - op.moved));
  if (status == Status::in_progress) return true;
  if (status == Status::no_resource) return false;
  if (silence.slices < kDoublings) ++silence.slices;
  if (op.moved >= op.tail) end_receiving(op);
  return true;
}

/// The last `bytes` of what was not read yet.
Status Engine::read_end(RecvOp& op, std::uint64_t bytes) noexcept {
  const std::uint64_t at = op.tail - bytes;
  transport::Key key;
  op.key.copy_to(key);
  op.done = &Engine::on_get_done;
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
void Engine::get_was_refused(RecvOp& op) noexcept {
  op.refused = false;
  was_refused(*op.link);
}

/// All bytes are there, or the receive failed. A sender that did not send all of them has to be told; that of
/// a remote get is not known by name.
void Engine::end_receiving(RecvOp& op) noexcept {
  if (is_held(op)) [[unlikely]] {
    hold(op);
    return;
  }
  const bool sent = op.outcome == Status::ok && !op.needs_fin && tail_of(op) == op.length;
  if (op.failed || sent || op.peer_op == 0) {
    finish(op);
    return;
  }
  drop_ahead(op);
  if (op.divided) end_division(op);
  deactivate(op);
  op.state = Operation::State::fin_due;
  activate(op);
  step_fin(op);
}

}  // namespace stria::rndv
