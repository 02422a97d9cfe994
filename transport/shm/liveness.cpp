// Links go down, and what the dead left behind is taken back. A device's write lock on its own memfd lasts as
// long as its process, whatever kills it, so asking for the lock (F_GETLK) tells whether the process is
// there.
#include <algorithm>
#include <vector>

#include "base/log.hpp"
#include "transport/shm/device.hpp"

namespace stria::shm {

/// ok: the link stays. Otherwise what link_down() is to say.
Status Device::fate(const Link& link) const noexcept {
  if (link.incoming().broken) return Status::io_error;
  if (link.peer_.has_ended()) return Status::peer_failed;
  if (!link.peer_.keeps_slot(shared_.home.own_state(SlotPhase::ready)))
    return Status::unreachable;  // the peer refused us
  return Status::ok;
}

void Device::check() noexcept {
  look_at_slots();
  const std::uint32_t wanted = windows_wanted();
  shared_.windows.cool_idle(wanted);
  shared_.windows.ask_back(wanted);
  for (std::uint32_t i = 0; i < links_.living();) {
    Link& link = links_.living(i);
    const Status why = fate(link);
    if (why == Status::ok) {
      link.access_.refresh();
      adapt_window(link);
      ++i;
      continue;
    }
    const bool is_over = link.peer_.has_ended();  // asked once: what comes after the drain stays in the inbox
    if (drain(link, is_over))
      take_down(link, why, is_over);  // another link is in its place
    else
      ++i;
  }
}

/// Takes what a peer left in the inbox out of it, and delivers it if there is a link. Others may stand before
/// it, who are about to publish, or stand still: its end does not wait for them. False: it lives, and is
/// about to publish itself.
bool Device::drain_inbox(std::uint32_t peer, bool is_over) noexcept {
  const std::uint64_t waiting = std::min<std::uint64_t>(inbox_.waiting(), shared_.own().shape().inbox_slots);
  for (std::uint64_t i = 0; i < waiting; ++i) {
    std::uint64_t state = 0;
    InboxSlot& slot = inbox_.ahead(i, state);
    const InboxPhase phase = inbox_phase(state);
    if (phase == InboxPhase::free || inbox_peer(state) != peer) continue;
    if (phase == InboxPhase::claimed && !is_over) return false;
    Link* const link = link_of_slot(peer);
    if (phase == InboxPhase::ready && link != nullptr) take_record(slot.control, slot.bytes, *link);
    inbox_.strike(slot, state);
  }
  return true;
}

/// The peer may have connected, too, and its hello may wait in the inbox.
void Device::find_slot(Link& link) noexcept {
  for (std::uint32_t slot = 0; slot < shared_.home.slots_used() && link.incoming().slot == kNone; ++slot)
    if (link_of_slot(slot) == nullptr && shared_.home.slot(slot).worker_id == link.peer_.worker_id)
      welcome(slot);
}

/// Delivers everything the peer sent. False: it is about to send more; try again later.
bool Device::drain(Link& link, bool is_over) noexcept {
  if (link.incoming().broken && !is_over) return true;
  if (link.incoming().slot == kNone) find_slot(link);
  if (link.incoming().slot == kNone) return true;
  // Records without a window are in the inbox.
  if (!drain_inbox(link.incoming().slot, is_over)) return false;
  shared_.windows.follow(link);  // it may have taken one just now
  link.incoming().is_over = is_over;
  if (Polled* polled = shared_.windows.find(link.incoming().window); polled != nullptr)
    while (!link.incoming().broken && polled->window.peek() != 0) {
      poll_window(*polled, 1024);
      if (link.incoming().is_half()) return false;
    }
  return true;
}

void Device::take_down(Link& link, Status why, bool is_over) noexcept {
  // It may have closed in good order just before its process ended.
  if (why == Status::peer_failed && !link.peer_.has_closed())
    log::info("shm: worker {:016x} died", link.peer_.worker_id);
  connector_.forget(link);
  link.outgoing_.shut();
  links_.went_down(link);
  link.access_.shut();
  if (is_over || link.incoming().slot == kNone) shared_.cells.reclaim(link.outgoing_.link_number());
  shared_.windows.drop(link);
  if (link.incoming().slot != kNone) {
    by_slot_[link.incoming().slot] = nullptr;
    // A peer that still runs may still write to its window and slot, may be in a put, and may read what we
    // sent: all that stays taken until it is gone, which look_at_slots() asks.
    if (is_over) {
      free_slot(link.incoming().slot);
    } else {
      refuse(link.incoming().slot);
      link.refused_slot_ = link.incoming().slot;
      links_.refused(link.outgoing_.link_number());
    }
  }
  link.incoming().shut();
  shared_.sink->link_down(shared_.sink->self, link.incoming().cookie, transport::to_c(why));
}

/// Gives a peer slot and the window and the pin that belong to it to the next peer. Nobody writes there any
/// more.
void Device::free_slot(std::uint32_t slot) noexcept {
  shared_.windows.free_of(slot);
  keys_.clear_accessor(slot);
  awaited_.erase(slot);
  shared_.home.slot(slot).state.store(0, std::memory_order_release);
}

/// The peer of a slot without a link is gone. Its records leave the inbox first: whoever gets the slot next
/// would be taken for their sender, and be waited for where it died before it published.
void Device::forget(std::uint32_t slot) noexcept {
  // It may be known by a link of ours; then check() drains it.
  if (welcome(slot) != nullptr || is_awaited(slot)) return;
  static_cast<void>(drain_inbox(slot, true));
  links_.forget_refused([&](Link& link) {
    if (link.refused_slot_ != slot) return false;
    link.refused_slot_ = kNone;
    shared_.cells.reclaim(link.outgoing_.link_number());
    return true;
  });
  free_slot(slot);
}

/// Peers whose hello has not come, and slots of those that died, or closed, before they were known.
void Device::look_at_slots() noexcept {
  const std::uint32_t used = std::min(shared_.own().header().next_peer.load(std::memory_order_relaxed),
                                      shared_.own().shape().max_peers);
  for (std::uint32_t slot = 0; slot < used; ++slot) {
    if (link_of_slot(slot) != nullptr) continue;
    const std::uint64_t state = shared_.home.slot(slot).state.load(std::memory_order_acquire);
    if (slot_phase(state) == SlotPhase::free) continue;
    if (shared_.home.is_gone(slot))
      forget(slot);
    else
      welcome(slot);
  }
}

/// Whether the peer that claimed an inbox slot will never publish it. That it was refused does not say so.
bool Device::is_claimant_gone(std::uint32_t peer) const noexcept {
  if (peer >= shared_.own().shape().max_peers) return true;
  if (const Link* link = link_of_slot(peer); link != nullptr) return !link->peer_.attached.is_alive();
  const std::uint64_t state = shared_.home.slot(peer).state.load(std::memory_order_acquire);
  return slot_phase(state) == SlotPhase::free || shared_.home.is_gone(peer);
}

/// For invalidate(): whether a pin in that slot may still be in use. The peer need not have been welcomed
/// yet.
bool Device::is_accessor_alive(std::uint32_t slot) const noexcept {
  if (const Link* link = link_of_slot(slot); link != nullptr) return link->peer_.attached.is_alive();
  const std::uint64_t state = shared_.home.slot(slot).state.load(std::memory_order_acquire);
  return slot_phase(state) != SlotPhase::free && !shared_.home.is_gone(slot);
}

/// Whether a peer that we are about to connect to will find a slot here for its answer, beside those whose
/// answers are still to come. Without one it is refused, and what was sent to it by then is lost.
bool Device::has_room_for(const Identity& identity) const {
  if (shared_.own().shape().max_peers - shared_.home.slots_used() > links_.living()) return true;
  std::vector<std::uint64_t> to_answer{identity.nonce};
  for (std::uint32_t i = 0; i < links_.living(); ++i)
    if (const Link& link = links_.living(i); link.incoming().slot == kNone)
      to_answer.push_back(link.peer_.attached.nonce);
  std::sort(to_answer.begin(), to_answer.end());
  std::size_t room = 0;
  for (std::uint32_t slot = 0; slot < shared_.own().shape().max_peers; ++slot) {
    const PeerSlot& peer = shared_.home.slot(slot);
    const SlotPhase phase = slot_phase(peer.state.load(std::memory_order_acquire));
    const bool answered = phase == SlotPhase::ready && link_of_slot(slot) == nullptr &&
                          std::binary_search(to_answer.begin(), to_answer.end(), peer.nonce);
    if (phase == SlotPhase::free || answered) ++room;
  }
  return room >= to_answer.size();
}

/// For close(): whether the peer still needs this process for what was sent to it. A peer that has this
/// segment mapped does not: records lie in its own memory, cells stay as long as they are mapped, and it
/// takes all of them out before it takes the link down. A peer maps the segment before it takes a slot here.
bool Device::is_needed_by(const Link& link, bool look_closely) const noexcept {
  if (!link.outgoing_.is_up() || link.incoming().slot != kNone) return false;
  if (link.outgoing_.has_only_greeted() || link.peer_.has_closed() || has_slot_here(link)) return false;
  if (!link.peer_.keeps_slot(shared_.home.own_state(SlotPhase::ready)))
    return false;  // refused, or it noticed our end
  return !look_closely || link.peer_.attached.is_alive();
}

bool Device::has_slot_here(const Link& link) const noexcept {
  for (std::uint32_t slot = 0; slot < shared_.home.slots_used(); ++slot) {
    const PeerSlot& peer = shared_.home.slot(slot);
    if (slot_phase(peer.state.load(std::memory_order_acquire)) == SlotPhase::ready &&
        peer.nonce == link.peer_.attached.nonce)
      return true;
  }
  return false;
}

}  // namespace stria::shm
