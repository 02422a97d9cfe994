#include "transport/verbs/link.hpp"

#include <algorithm>
#include <cstring>

#include "transport/verbs/completions.hpp"
#include "transport/verbs/moves.hpp"

namespace stria::verbs {

Link::Link(Shared& shared, std::uint64_t worker) noexcept
    : shared_(shared),
      worker_(worker),
      credits_(shared.settings.credits),
      silence_(shared.can.longest_silence_ms),
      queue_(shared, *this) {}

void Link::attach(Connection& connection) noexcept {
  connection_ = &connection;
  connection.link = this;
  queue_.use(connection.id->qp, connection.number);
  credits_.open(connection.peer.credits);
  peer_link_ = connection.peer.link;
}

void Link::set_echo(Link& echo) noexcept {
  echo_ = &echo;
  echo.origin_ = this;
}

void Link::part() noexcept {
  if (echo_ != nullptr) echo_->origin_ = nullptr;
  if (origin_ != nullptr) origin_->echo_ = nullptr;
  echo_ = origin_ = nullptr;
}

void Link::limits(transport::LinkLimits& out) noexcept {
  const Abilities& can = shared_.can;
  out = {};
  out.pio_max = can.pio_max;
  out.eager_max = is_attached() ? std::min(can.eager_max, connection_->peer.eager_bytes) : can.eager_max;
  out.can_get = 1;
  out.can_put = can.can_put ? 1 : 0;
  out.can_atomic = can.has_atomics ? 1 : 0;
  out.offload = 1;
  out.gathers = can.gathers ? 1 : 0;
  out.pio_credits = ready() && !dying ? credits_.have() * can.pio_mtu() : 0;
  out.low_latency = 0;
  out.path = can.path.c_str();
  out.fallback = "";
}

Status Link::get(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                 transport::Completion* completion) noexcept {
  return shared_.moves->start(*this, {false, local, key, offset, completion, nullptr});
}

Status Link::put(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                 transport::Completion* completion) noexcept {
  if (!shared_.can.can_put) return Status::unsupported;
  return shared_.moves->start(*this, {true, local, key, offset, completion, nullptr});
}

Status Link::get_finish(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                        const transport::Header& header, transport::Completion* completion) noexcept {
  if (!shared_.can.sends_invalidate) return Status::unsupported;
  return shared_.moves->start(*this, {false, local, key, offset, completion, &header});
}

Status Link::atomic(const transport::Atomic& atomic, const transport::Key& key,
                    transport::Completion* completion) noexcept {
  return shared_.moves->start_atomic(*this, atomic, key, completion);
}

bool Link::greet() noexcept {
  if (dying || send_prefix(PacketKind::greeting) != Status::ok) return false;
  greeting_.pass();
  return true;
}

// Repeats the greeting on iWARP. siw accepts a connection before it takes over the receive path of the
// socket, and is not woken for data that arrives in between: a greeting may lie there until more data comes.
// Then the passive side waits for the greeting, and this side may wait for the passive side.
void Link::greet_again(std::uint64_t now_ms) noexcept {
  if (dying || !is_attached() || !connection_->asked || !shared_.adapter->traits.iwarp) return;
  if (!greeting_.is_due_again(now_ms) || !queue_.has_room(1)) return;
  greeting_.repeat(now_ms);
  static_cast<void>(send_prefix(PacketKind::greeting));
}

bool Link::return_credits() noexcept {
  if (dying || !ready() || !credits_.are_due()) return true;
  if (!queue_.has_room(1)) return false;
  credits_.set_control_out(true);
  const Status sent = send_prefix(PacketKind::credit);
  if (sent == Status::no_resource) {
    credits_.set_control_out(false);
    return false;
  }
  ++shared_.counters.credit_packets;
  return true;
}

bool Link::take(const Prefix& prefix) noexcept {
  if (!credits_.take(prefix)) return false;
  greeting_.hear();
  if (prefix.kind == PacketKind::greeting) greeting_.pass();
  return true;
}

bool Link::probe(std::uint64_t now_ms) noexcept {
  if (dying || !is_attached()) return true;
  if (has_to_greet()) {  // when the link was attached there was no room for the greeting
    greet();
    return true;
  }
  const bool iwarp = shared_.adapter->traits.iwarp;
  if (!ready()) {
    // A peer that connected sends its greeting when it has this side's answer; until then its adapter may
    // drop requests, so none is posted. A peer that has not greeted after `patience` has given up or is gone.
    const std::uint64_t waited = greeting_.waited_ms(now_ms), patience = shared_.settings.connect_ms;
    if (waited <= patience) return true;
    if (iwarp) return waited <= patience + silence_.limit_ms();
  }
  if (silence_.is_too_soon(now_ms)) return true;
  const bool unanswered = silence_.look(now_ms, queue_.completed());
  // siw never completes a write of no bytes, so on iWARP the kernel's TCP has to notice a dead peer. On other
  // adapters the doorbell of this write also wakes an adapter that has stopped serving its queue (rxe, when
  // the packet that it waits for comes while it goes to sleep).
  const bool can_ask = !iwarp && queue_.has_room(1);
  if (can_ask && (queue_.is_idle() || unanswered))
    static_cast<void>(queue_.post_nothing());
  else
    static_cast<void>(queue_.settle());
  silence_.leave(!queue_.is_idle());
  return !silence_.is_over_limit();
}

}  // namespace stria::verbs
