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

constexpr std::uint64_t kSlice = 128 * 1024;  // 12 us: then the sender may have come back

std::uint16_t now_us() noexcept {
  return static_cast<std::uint16_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

/// Of the link, not of one operation: a sender of many messages sends them in turn. The provider was asked
/// for packets just before, so what is not there now was not sent.
bool is_silent(transport::Silence& silence, std::uint32_t patience_us) noexcept {
  const std::uint16_t now = now_us();
  if (silence.heard || !silence.waited) silence.since = now;
  silence.heard = false;
  silence.waited = true;
  return static_cast<std::uint16_t>(now - silence.since) >= patience_us;
}

}  // namespace

/// A slice of the end came, or did not. A sender that ended the operation, and its key with it, has sent all
/// its fragments: then they are on their way.
void Engine::helped(RecvOp& op, Status status) noexcept {
  if (status == Status::ok)
    op.tail -= op.slice_bytes;
  else
    op.helps = false;
}

bool Engine::step_receiving(RecvOp& op) noexcept {
  if (op.in_flight) return false;
  if (op.moved >= tail_of(op)) {
    end_receiving(op);
    return true;
  }
  if (!op.helps) {
    deactivate(op);
    return false;
  }
  if (helped_ || !is_silent(op.link->silence, options_.patience_us)) return false;
  helped_ = true;  // then others of the link have their turn, and the provider is asked again
  const std::uint64_t bytes = std::min(kSlice, op.tail - op.moved);
  const std::uint64_t at = op.tail - bytes;
  transport::Key key;
  transport::copy_key(key, op.key);
  op.done = &Engine::on_get_done;
  op.slice_bytes = static_cast<std::uint32_t>(bytes);
  op.in_flight = true;
  const Status status = op.link->get(transport::slice(op.memory, at, bytes), key, at, &op);
  if (status == Status::in_progress) return true;
  op.in_flight = false;
  if (status == Status::no_resource) return false;
  if (status == Status::ok) ++counters_.helped;
  if (status == Status::unsupported && events_.refused != nullptr) events_.refused(events_.self, *op.link);
  helped(op, status);
  if (op.moved >= op.tail) end_receiving(op);
  return true;
}

/// All bytes are there. A sender that did not send all of them has to be told.
void Engine::end_receiving(RecvOp& op) noexcept {
  if (!op.needs_fin && tail_of(op) == op.length) {
    finish(op);
    return;
  }
  op.state = Operation::State::fin_due;
  activate(op);
  step_fin(op);
}

}  // namespace stria::rndv
