// What happens when a link goes down because its peer cannot be reached, before any message went by it: its
// provider accepted the connect, asked its network, and got a refusal. That is no more than a provider that
// refuses at once. So the worker asks the next provider, and what waits goes by the link of that one. When no
// provider is left, the operations that wait end as if their calls had been refused, the next call asks all
// providers again, and receives wait on: the peer may connect itself.
//
// A peer may also connect by another provider while this worker's provider still asks, because the peer's own
// attempt with that provider failed first. The peer's messages then come by the peer's link, and what waits
// here goes by it, too. The worker's link that still asks becomes a rail, if both links are of one provider:
// that link may come up yet. When a peer that was reached already connects by another device of the same
// provider, it gets one rail more (rails.hpp).
#include "tag/worker.hpp"

namespace stria::tag {

namespace {
constexpr Status kWhy = Status::unreachable;
}

/// The operations that wait for a peer that is now reached in another way, or not at all.
struct Worker::Waiting {
  Sends::Waiting sends;
  RemoteAccess::Waiting one_sided;
};

/// Ends the use of the peer's main link, and moves what waits for it to `waiting`. False, and nothing
/// changed: a message went by the link, or there is no other way to the peer.
bool Worker::take_back(Peer& peer, Waiting& waiting) noexcept {
  // Marks the peer as failed first: a callback of an operation that ends here must not start another one that
  // ends with it.
  if (!peers_.refuse(peer)) return false;
  sends_.take_back(peer, waiting.sends);
  RemoteAccess::take_back(peer, waiting.one_sided);
  rndv_.fail_link(peer.link, kWhy);
  rails_.leave(peer);
  remote_.fail(peer, kWhy);
  activity_.add_handled(1);  // requests end: a wait is over
  return true;
}

void Worker::give_back(Peer& peer, Waiting& waiting) noexcept {
  Sends::give_back(peer, waiting.sends);
  remote_.give_back(peer, waiting.one_sided);
  activity_.add_to_backlog(peer);
}

bool Worker::refused(Peer& peer) noexcept {
  Waiting waiting;
  if (!take_back(peer, waiting)) return false;
  const bool any_waits = !waiting.sends.empty() || !waiting.one_sided.empty();
  if (peers_.reach_by_others(peer)) {
    give_back(peer, waiting);
    return true;
  }
  if (receives_.names(peer)) peers_.await_unmet(peer);
  if (!any_waits) peers_.report_refusal(peer);
  const Status answer = peer.state == Peer::State::failed ? Status::peer_failed : kWhy;
  Sends::end(waiting.sends, answer);
  remote_.end(waiting.one_sided, answer);
  return true;
}

Peer& Worker::joined(const Device& device, std::uint64_t worker_id, stria_link_t* link) noexcept {
  Peer* const coming = peers_.coming_by_other(device, worker_id);
  Waiting waiting;
  const Device* const asking = coming != nullptr ? &devices_[coming->device] : nullptr;
  stria_link_t* const asked = coming != nullptr ? coming->link.link : nullptr;
  const bool is_taken_back = coming != nullptr && take_back(*coming, waiting);
  Peer& peer = peers_.joined(device, worker_id, link);
  if (is_taken_back) {
    give_back(*coming, waiting);
    // Should the worker's link come up after all, the peer uses it as a rail.
    if (peer.state == Peer::State::up) rails_.joined(peer, *asking, asked);
  }
  if (peer.state == Peer::State::up && peer.device != device.number) rails_.joined(peer, device, link);
  if (peer.state == Peer::State::failed && peer.index != kNobody) {
    farewells_.owe(peer, device, link);
    activity_.add_to_backlog(peer);
  }
  return peer;
}

}  // namespace stria::tag
