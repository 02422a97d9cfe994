#include "transport/shm/peers.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/format.hpp"
#include "base/log.hpp"
#include "transport/shm/receiver.hpp"

namespace stria::shm {

Result<Link*> Peers::connect(const Identity& identity, void* cookie, bool low_latency) {
  const OwnSegment& own = parts_.shared.own;
  const auto gone = [&](const char* how) {
    return Error{Status::peer_failed, fmt::format("shm: process {} is gone: {}", identity.pid, how)};
  };
  if (Link* known = links_.find(identity.worker_id); known != nullptr) {
    if (known->outgoing().is_down() && own.is_gone(identity))
      return gone("it ended, or closed its worker, after it had connected");
    if (known->outgoing().is_down())
      return Error{Status::unreachable,
                   fmt::format("shm: process {} and this one gave up their connection", identity.pid)};
    known->incoming().cookie = cookie;
    if (low_latency) {
      known->outgoing().become_low_latency();
      static_cast<void>(parts_.connector.upgrade(*known));
    }
    return known;
  }
  if (!has_room_for(identity))
    return Error{
        Status::unreachable,
        fmt::format("shm: this process has {} peers, its limit (STRIA_SHM_MAX_PEERS), and process {} "
                    "could not answer",
                    own.view().shape().max_peers, identity.pid)};
  auto made = parts_.connector.bring_up(identity, links_.size(), low_latency);
  if (!made) {
    if (own.is_gone(identity)) return gone("it ended, or closed its worker, before this connection");
    return std::move(made).error();
  }
  if ((*made)->peer().has_closed()) return gone("it closed its worker");
  Link& link = links_.add(identity.worker_id, *std::move(made));
  link.incoming().cookie = cookie;
  parts_.connector.send_hello(link);
  return &link;
}

/// Makes the link to the peer of a ready slot, and tells the sink. Null: the peer is refused, or has to be
/// awaited.
Link* Peers::make_link(std::uint32_t slot, const Identity& identity) {
  Shared& shared = parts_.shared;
  const auto [awaited, is_first] = awaited_.try_emplace(slot);
  auto made = parts_.connector.bring_up(identity, links_.size(), false, &awaited->second.pending);
  if (!made && made.error().status != Status::unreachable) {
    // A door that does not answer is the peer's affair; a warning is for what this process lacks, because
    // its user may be able to help.
    const bool lacks = made.error().status == Status::no_resource;
    if (is_first)
      log::print(lacks ? log::Level::warn : log::Level::info, "{}; the peer is asked again",
                 made.error().context);
    return nullptr;
  }
  if (!made) {
    // That a process died before it was attached is no news; a living one that cannot be attached is.
    log::print(may_write(slot) ? log::Level::warn : log::Level::info, "{}; the peer is refused",
               made.error().context);
    return refuse(slot);
  }
  Link& link = links_.add(identity.worker_id, *std::move(made));
  parts_.connector.send_hello(link);
  link.incoming().cookie =
      shared.sink->peer_up(shared.sink->self, identity.worker_id, reinterpret_cast<stria_link_t*>(&link));
  return &link;
}

Link* Peers::accept(std::uint32_t slot) noexcept {
  Shared& shared = parts_.shared;
  if (slot >= shared.own.view().shape().max_peers) return nullptr;
  PeerSlot& peer = shared.own.slot(slot);
  if (slot_phase(peer.state.load(std::memory_order_acquire)) != SlotPhase::ready) return nullptr;
  try {
    if (slot >= by_slot_.size()) by_slot_.resize(slot + 1, nullptr);
    Link* link = by_slot_[slot];
    const bool is_new = link == nullptr;
    if (is_new) {
      const Identity identity = peer.identity;
      link = links_.find(identity.worker_id);
      if (link != nullptr && (link->outgoing().is_down() || link->incoming().slot != kNone ||
                              link->peer().attached.nonce != identity.nonce))
        return refuse(slot);
      if (link == nullptr) link = make_link(slot, identity);
      if (link == nullptr) return nullptr;
      by_slot_[slot] = link;
      link->incoming().slot = slot;
      if (const auto awaited = awaited_.extract(slot); awaited)
        for (const Awaited::Record& one : awaited.mapped().records)
          parts_.receiver.take_record(one.control, one.bytes.data(), *link);
    }
    shared.windows.follow(*link);
    if (is_new) link->outgoing().probe(true);
    return link;
  } catch (const std::bad_alloc&) {
    log::error("shm: out of memory while a peer connects; it is refused");
    return refuse(slot);
  }
}

/// Marks a slot as refused, which its peer sees. Always null.
Link* Peers::refuse(std::uint32_t slot) noexcept {
  awaited_.erase(slot);
  std::atomic<std::uint64_t>& state = parts_.shared.own.slot(slot).state;
  const std::uint64_t ready = state.load(std::memory_order_relaxed);
  state.store(slot_state(SlotPhase::refused, slot_pid(ready), slot_pid_space(ready)),
              std::memory_order_release);
  return nullptr;
}

bool Peers::keep_record(std::uint32_t slot, const InboxSlot& record) noexcept try {
  auto& records = awaited_.find(slot)->second.records;
  if (records.size() >= parts_.shared.own.view().shape().inbox_slots) return false;
  auto& kept = records.emplace_back();
  kept.control = record.control;
  std::memcpy(kept.bytes.data(), record.bytes, sizeof record.bytes);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void Peers::find_slot(Link& link) noexcept {
  const OwnSegment& own = parts_.shared.own;
  for (std::uint32_t slot = 0; slot < own.slots_used() && link.incoming().slot == kNone; ++slot)
    if (of_slot(slot) == nullptr && own.slot(slot).identity.worker_id == link.peer().worker_id) accept(slot);
}

void Peers::leave(Link& link, bool is_over) noexcept {
  const std::uint32_t slot = link.incoming().slot;
  links_.went_down(link);
  if (is_over || slot == kNone) parts_.shared.cells.reclaim(link.outgoing().link_number());
  if (slot == kNone) return;
  by_slot_[slot] = nullptr;
  // A peer that still runs may write to its window and slot, may be in a put, and may read cells that were
  // sent to it: slot, window and cells stay taken until look_at_slots() finds that it is gone.
  if (is_over) {
    free_slot(slot);
  } else {
    refuse(slot);
    link.refused_slot = slot;
    links_.refused(link.outgoing().link_number());
  }
}

/// Frees a peer slot with its window and its pin for other peers. Its peer writes nothing any more.
void Peers::free_slot(std::uint32_t slot) noexcept {
  parts_.shared.windows.free_of(slot);
  parts_.keys.clear_accessor(slot);
  awaited_.erase(slot);
  parts_.shared.own.slot(slot).state.store(0, std::memory_order_release);
}

/// Frees the slot of a peer that is gone and has no link here. The records of the peer leave the inbox
/// first: otherwise the next peer with this slot would be taken for their sender, and would be waited for
/// where the old peer had claimed an inbox slot but died before it published.
void Peers::forget(std::uint32_t slot) noexcept {
  // This device may have a link to the peer, from its own connect(): then Teardown drains that link.
  if (accept(slot) != nullptr || is_awaited(slot)) return;
  static_cast<void>(parts_.receiver.drain_inbox(slot, true));
  links_.forget_refused([&](Link& link) {
    if (link.refused_slot != slot) return false;
    link.refused_slot = kNone;
    parts_.shared.cells.reclaim(link.outgoing().link_number());
    return true;
  });
  free_slot(slot);
}

void Peers::look_at_slots() noexcept {
  const OwnSegment& own = parts_.shared.own;
  const std::uint32_t used = own.slots_used();
  for (std::uint32_t slot = 0; slot < used; ++slot) {
    if (of_slot(slot) != nullptr) continue;
    const std::uint64_t state = own.slot(slot).state.load(std::memory_order_acquire);
    if (slot_phase(state) == SlotPhase::free) continue;
    if (own.is_gone(slot))
      forget(slot);
    else
      accept(slot);
  }
}

bool Peers::may_write(std::uint32_t slot) const noexcept {
  const OwnSegment& own = parts_.shared.own;
  if (slot >= own.view().shape().max_peers) return false;
  if (const Link* link = of_slot(slot); link != nullptr) return link->peer().attached.is_alive();
  const std::uint64_t state = own.slot(slot).state.load(std::memory_order_acquire);
  return slot_phase(state) != SlotPhase::free && !own.is_gone(slot);
}

/// Whether a peer that this device is about to connect to will find a free slot here when it connects back,
/// beside the peers that have yet to connect back. Without a slot it could not, and what was sent to it by
/// then would be lost.
bool Peers::has_room_for(const Identity& identity) const {
  const OwnSegment& own = parts_.shared.own;
  const std::uint32_t most = own.view().shape().max_peers;
  if (most - own.slots_used() > links_.living()) return true;
  std::vector<std::uint64_t> to_answer{identity.nonce};
  for (std::uint32_t i = 0; i < links_.living(); ++i)
    if (const Link& link = links_.living(i); link.incoming().slot == kNone)
      to_answer.push_back(link.peer().attached.nonce);
  std::sort(to_answer.begin(), to_answer.end());
  std::size_t room = 0;
  for (std::uint32_t slot = 0; slot < most; ++slot) {
    const PeerSlot& peer = own.slot(slot);
    const SlotPhase phase = slot_phase(peer.state.load(std::memory_order_acquire));
    const bool answered = phase == SlotPhase::ready && of_slot(slot) == nullptr &&
                          std::binary_search(to_answer.begin(), to_answer.end(), peer.identity.nonce);
    if (phase == SlotPhase::free || answered) ++room;
  }
  return room >= to_answer.size();
}

bool Peers::has_slot_here(const Link& link) const noexcept {
  const OwnSegment& own = parts_.shared.own;
  for (std::uint32_t slot = 0; slot < own.slots_used(); ++slot) {
    const PeerSlot& peer = own.slot(slot);
    if (slot_phase(peer.state.load(std::memory_order_acquire)) == SlotPhase::ready &&
        peer.identity.nonce == link.peer().attached.nonce)
      return true;
  }
  return false;
}

}  // namespace stria::shm
