// A link that goes down because its peer cannot be reached, before any message went by it: its provider said
// yes, asked, and had no for an answer. That is no more than a provider that says no at once. So the next
// provider is asked, and what waits to be sent goes by its link. When none is left, what this worker wanted
// to send ends as if the calls had been refused, the next call asks all again, and receives wait on: the peer
// may come by itself.
#include "tag/worker.hpp"

namespace stria::tag {

bool Worker::refused(Peer& peer) noexcept {
  constexpr Status kWhy = Status::unreachable;
  // No callback of what ends now may start something anew that ends with it.
  if (!peers_.refuse(peer)) return false;
  Sends::Waiting waiting;
  sends_.take_back(peer, waiting);
  rndv_.fail_link(peer.link, kWhy);
  remote_.fail(peer, kWhy);
  activity_.add_handled(1);  // requests end: a wait is over
  if (peers_.reach_by_others(peer)) {
    Sends::give_back(peer, waiting);
    return true;
  }
  if (receives_.names(peer)) peers_.await_unmet(peer);
  Sends::end(waiting, peer.state == Peer::State::failed ? Status::peer_failed : kWhy);
  return true;
}

}  // namespace stria::tag
