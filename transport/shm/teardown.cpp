#include "transport/shm/teardown.hpp"

#include "base/log.hpp"

namespace stria::shm {

/// Whether the link can stay: ok, or else the status for the upcall link_down().
Status Teardown::fate(const Link& link) const noexcept {
  if (link.incoming().broken) return Status::io_error;
  if (link.peer().has_ended()) return Status::peer_failed;
  if (!link.peer().keeps_slot(parts_.shared.own.own_state(SlotPhase::ready))) return Status::unreachable;
  return Status::ok;
}

void Teardown::check() noexcept {
  parts_.shared.own.publish_cache();
  parts_.peers.look_at_slots();
  parts_.sharing.look();
  Links& links = parts_.peers.links();
  for (std::uint32_t i = 0; i < links.living();) {
    Link& link = links.living(i);
    const Status why = fate(link);
    if (why == Status::ok) {
      link.access().refresh();
      renew_distance(link);
      parts_.sharing.adapt(link);
      ++i;
      continue;
    }
    // Asked once, before the drain: what the peer sends after the drain stays in the inbox.
    const bool is_over = link.peer().has_ended();
    if (parts_.receiver.drain(link, is_over))
      take_down(link, why, is_over);  // the last living link is at `i` now
    else
      ++i;
  }
}

/// Finds out whether the peer of the link is near or far now: either of both may have moved.
void Teardown::renew_distance(Link& link) noexcept {
  const transport::Sink& sink = *parts_.shared.sink;
  PeerSegment& peer = link.peer();
  const bool compared = peer.compare_caches(parts_.shared.own.last_cache());
  const bool believed = peer.distance.believe(peer.published_verdict());
  link.incoming().publish_verdict();
  if (compared || believed) sink.link_changed(sink.self, link.incoming().cookie);
  link.outgoing().probe(false);
}

void Teardown::take_down(Link& link, Status why, bool is_over) noexcept {
  // A peer may have closed in good order just before its process ended: that is no death.
  if (why == Status::peer_failed && !link.peer().has_closed())
    log::info("shm: worker {:016x} died", link.peer().worker_id);
  parts_.connector.forget(link);
  link.outgoing().shut();
  link.access().shut();
  parts_.shared.windows.drop(link);
  parts_.peers.leave(link, is_over);
  link.incoming().shut();
  const transport::Sink& sink = *parts_.shared.sink;
  sink.link_down(sink.self, link.incoming().cookie, transport::to_c(why));
}

bool Teardown::is_needed(bool look_closely) const noexcept {
  Links& links = parts_.peers.links();
  for (std::uint32_t i = 0; i < links.living(); ++i)
    if (is_needed_by(links.living(i), look_closely)) return true;
  return false;
}

/// Whether the peer of the link still needs this process. A peer that has this device's segment mapped does
/// not: records lie in the peer's own segment, the cells exist as long as they are mapped, and the peer
/// receives all of them before it takes its link down. A peer that has a slot here has mapped the segment
/// before.
bool Teardown::is_needed_by(const Link& link, bool look_closely) const noexcept {
  if (!link.outgoing().is_up() || link.incoming().slot != kNone) return false;
  if (link.outgoing().has_sent_only_hello() || link.peer().has_closed() || parts_.peers.has_slot_here(link))
    return false;
  if (!link.peer().keeps_slot(parts_.shared.own.own_state(SlotPhase::ready)))
    return false;  // the peer refused this device, or noticed its end
  return !look_closely || link.peer().attached.is_alive();
}

}  // namespace stria::shm
