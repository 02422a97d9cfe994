#include "transport/shm/ends.hpp"

#include "base/log.hpp"

namespace stria::shm {

/// ok: the link stays. Otherwise what link_down() is to say.
Status Ends::fate(const Link& link) const noexcept {
  if (link.incoming().broken) return Status::io_error;
  if (link.peer().has_ended()) return Status::peer_failed;
  if (!link.peer().keeps_slot(parts_.shared.home.own_state(SlotPhase::ready))) return Status::unreachable;
  return Status::ok;
}

void Ends::check() noexcept {
  parts_.peers.look_at_slots();
  parts_.sharing.look();
  Links& links = parts_.peers.links();
  for (std::uint32_t i = 0; i < links.living();) {
    Link& link = links.living(i);
    const Status why = fate(link);
    if (why == Status::ok) {
      link.access().refresh();
      parts_.sharing.adapt(link);
      ++i;
      continue;
    }
    const bool is_over =
        link.peer().has_ended();  // asked once: what comes after the drain stays in the inbox
    if (parts_.receiver.drain(link, is_over))
      take_down(link, why, is_over);  // another link is in its place
    else
      ++i;
  }
}

void Ends::take_down(Link& link, Status why, bool is_over) noexcept {
  // It may have closed in good order just before its process ended.
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

bool Ends::is_needed(bool look_closely) const noexcept {
  Links& links = parts_.peers.links();
  for (std::uint32_t i = 0; i < links.living(); ++i)
    if (is_needed_by(links.living(i), look_closely)) return true;
  return false;
}

/// A peer that has this segment mapped does not need the process: records lie in its own memory, cells stay
/// as long as they are mapped, and it takes all of them out before it takes the link down. A peer maps the
/// segment before it takes a slot here.
bool Ends::is_needed_by(const Link& link, bool look_closely) const noexcept {
  if (!link.outgoing().is_up() || link.incoming().slot != kNone) return false;
  if (link.outgoing().has_only_greeted() || link.peer().has_closed() || parts_.peers.has_slot_here(link))
    return false;
  if (!link.peer().keeps_slot(parts_.shared.home.own_state(SlotPhase::ready)))
    return false;  // refused, or it noticed this device's end
  return !look_closely || link.peer().attached.is_alive();
}

}  // namespace stria::shm
