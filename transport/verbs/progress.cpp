// What drives a device's parts: progress, going to sleep, the check for silent peers, and closing.
#include <sched.h>

#include <algorithm>
#include <chrono>

#include "base/format.hpp"
#include "transport/verbs/clock.hpp"
#include "transport/verbs/device.hpp"

namespace stria::verbs {

unsigned Device::progress(unsigned budget) noexcept {
  if (armed_) disarm();
  unsigned handled = peers_.take_news(budget);
  completions_.reap();
  if (moves_.has_stalled()) moves_.resume_stalled();
  if (moves_.has_ended()) handled += moves_.deliver_ended(budget - handled);
  handled += receiver_.receive(budget - handled);
  receiver_.return_credits();
  if (ends_.are_due()) handled += ends_.bury(budget - handled);
  return handled;
}

/// Consumes the events that make the wakeup descriptor readable.
void Device::disarm() noexcept {
  armed_ = false;
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  while (::ibv_get_cq_event(shared_.adapter->completions, &cq, &context) == 0) ::ibv_ack_cq_events(cq, 1);
  connector_.clear();
}

Status Device::arm() noexcept {
  disarm();
  const auto is_busy = [&] { return ends_.are_due() || moves_.has_ended() || moves_.has_stalled(); };
  if (peers_.has_news() || receiver_.is_busy() || is_busy()) return Status::no_resource;
  // Completions of posted requests need to wake the worker only while gets, puts or atomics are under way.
  if (moves_.are_under_way() && ::ibv_req_notify_cq(shared_.adapter->send_cq, 0) != 0)
    return Status::unsupported;
  if (::ibv_req_notify_cq(shared_.adapter->recv_cq, 0) != 0) return Status::unsupported;
  armed_ = true;
  // Completions that came before ibv_req_notify_cq do not make the descriptor readable: look for them.
  completions_.reap();
  return receiver_.poll_into_batch() && !is_busy() ? Status::ok : Status::no_resource;
}

/// Probes each peer with a request that its adapter has to answer, because a peer whose host is gone says
/// nothing. Then handles all news, packets and ends.
void Device::check() noexcept {
  const std::uint64_t now = now_ms();
  completions_.reap();
  for (const auto& link : links_.all()) {
    if (!link->announced) continue;
    link->greet_again(now);
    if (!link->probe(now))
      ends_.fail(*link, Status::peer_failed,
                 fmt::format("no answer for {} ms", shared_.can.longest_silence_ms));
  }
  static_cast<void>(peers_.take_news(~0u));
  while (receiver_.receive(~0u) > 0) {
  }
  if (moves_.has_ended()) static_cast<void>(moves_.deliver_ended(~0u));
  if (ends_.are_due()) static_cast<void>(ends_.bury(~0u));
}

Device::~Device() {
  close(0);
}

/// Waits at most timeout_ms for what is posted, then destroys windows before queue pairs, and queue pairs
/// before what they use.
void Device::close(int timeout_ms) noexcept {
  if (closed_) return;
  closed_ = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  const auto is_idle = [&] {
    completions_.reap();
    return std::ranges::all_of(links_.all(),
                               [](const auto& link) { return link->dying || link->queue().settle(); });
  };
  while (!is_idle() && std::chrono::steady_clock::now() < end) ::sched_yield();
  connector_.stop();
  // The queue pairs are in error, so no adapter touches the memory of moves any more. The moves release it;
  // their completions are not called.
  for (const auto& link : links_.all()) {
    link->dying = true;
    link->queue().abandon();
  }
  moves_.drop_stalled();
  keys_.close();
  connector_.destroy_all();
  shared_.regions.close();
  log_counts();
}

}  // namespace stria::verbs
