// A link that goes down because its peer cannot be reached, before any message went by it: its provider said
// yes, asked its network, and had no for an answer. That is no more than a provider that says no at once. So
// the next provider is asked, and what waits goes by its link. When none is left, what this worker wanted to
// send ends as if the calls had been refused, the next call asks all again, and receives wait on: the peer
// may come by itself.
//
// A peer may also come by another provider while ours still asks, because its own attempt failed first. Then
// its messages are here with that link, and what waits goes by it, too. Our link that still asks is a rail
// from then on, if both are links of one provider: it may come up yet. A peer that was reached already, and
// comes by another device of the same provider, has a rail more (rails.hpp).
#include "tag/worker.hpp"

namespace stria::tag {

namespace {
constexpr Status kWhy = Status::unreachable;
}

/// What waits for a peer that is reached in another way now, or not at all.
struct Worker::Waiting {
  Sends::Waiting sends;
  RemoteAccess::Waiting one_sided;
};

/// Ends the peer's link here. False, and nothing changed: a message went by it, or there is no other way.
bool Worker::take_back(Peer& peer, Waiting& waiting) noexcept {
  // No callback of what ends now may start something anew that ends with it.
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
  const bool somebody_waits = !waiting.sends.empty() || !waiting.one_sided.empty();
  if (peers_.reach_by_others(peer)) {
    give_back(peer, waiting);
    return true;
  }
  if (receives_.names(peer)) peers_.await_unmet(peer);
  if (!somebody_waits) peers_.report_refusal(peer);
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
    // Should it come up after all, the peer uses it as a rail.
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
