// A device and its peers meet: by connect(), or because a peer said hello.
#include <algorithm>
#include <cstring>

#include "base/format.hpp"
#include "base/log.hpp"
#include "transport/shm/device.hpp"

namespace stria::shm {

Result<Link*> Device::connect(const void* address, std::uint32_t bytes, void* peer, int low_latency) {
  auto identity = decode_address({static_cast<const std::byte*>(address), bytes});
  if (!identity) return std::move(identity).error();
  const auto gone = [&](const char* how) {
    return Error{Status::peer_failed, fmt::format("shm: process {} is gone: {}", identity->pid, how)};
  };
  if (identity->host != shared_.home.identity().host && identity->host != 0 &&
      shared_.home.identity().host != 0)
    return Error{Status::unreachable, fmt::format("shm: process {} runs on another host", identity->pid)};
  if (Link* known = links_.find(identity->worker_id); known != nullptr) {
    if (known->outgoing().is_down() && shared_.home.is_gone(*identity))
      return gone("it ended, or closed its worker, after it had connected");
    if (known->outgoing().is_down())
      return Error{Status::unreachable,
                   fmt::format("shm: process {} and this one gave up their connection", identity->pid)};
    known->incoming().cookie = peer;
    if (low_latency != 0) {
      known->outgoing().be_low_latency();
      static_cast<void>(connector_.upgrade(*known));
    }
    return known;
  }
  if (!has_room_for(*identity))
    return Error{
        Status::unreachable,
        fmt::format("shm: this process has {} peers, its limit (STRIA_SHM_MAX_PEERS), and process {} "
                    "could not answer",
                    shared_.own().shape().max_peers, identity->pid)};
  auto made = connector_.bring_up(*identity, links_.size(), low_latency != 0);
  if (!made) {
    if (shared_.home.is_gone(*identity))
      return gone("it ended, or closed its worker, before this connection");
    return std::move(made).error();
  }
  if ((*made)->peer_.has_closed()) return gone("it closed its worker");
  Link& link = links_.add(identity->worker_id, *std::move(made));
  link.device_ = this;
  link.incoming().cookie = peer;
  connector_.greet(link);
  return &link;
}

/// A peer's slot says who it is: adds the receiving half of its link, and the link if it is new. Null:
/// refused, or it cannot be attached to yet, and the slot stays ready.
Link* Device::welcome(std::uint32_t slot) noexcept {
  if (slot >= shared_.own().shape().max_peers) return nullptr;
  PeerSlot& peer = shared_.home.slot(slot);
  const std::uint64_t state = peer.state.load(std::memory_order_acquire);
  if (slot_phase(state) != SlotPhase::ready) return nullptr;
  try {
    if (slot >= by_slot_.size()) by_slot_.resize(slot + 1, nullptr);
    Link* link = by_slot_[slot];
    const Identity identity{peer.nonce,
                            peer.worker_id,
                            peer.pid,
                            peer.uid,
                            peer.fd,
                            peer.segment_bytes,
                            shared_.home.identity().host,
                            slot_pid_space(state),
                            peer.door_space};
    if (link == nullptr) {
      link = links_.find(identity.worker_id);
      if (link == nullptr) {
        const auto [awaited, is_first] = awaited_.try_emplace(slot);
        auto made = connector_.bring_up(identity, links_.size(), false, &awaited->second.question);
        if (!made && made.error().status != Status::unreachable) {
          // A silent door is the peer's affair; what this process lacks somebody may have to see to.
          const bool lacks = made.error().status == Status::no_resource;
          if (is_first)
            log::print(lacks ? log::Level::warn : log::Level::info, "{}; the peer is asked again",
                       made.error().context);
          return nullptr;
        }
        if (!made) {
          // A process that died before we looked is no news; a living one that cannot be reached is.
          log::print(is_accessor_alive(slot) ? log::Level::warn : log::Level::info, "{}; the peer is refused",
                     made.error().context);
          return refuse(slot);
        }
        link = &links_.add(identity.worker_id, *std::move(made));
        link->device_ = this;
        connector_.greet(*link);
        link->incoming().cookie = shared_.sink->peer_up(shared_.sink->self, link->peer_.worker_id,
                                                        reinterpret_cast<stria_link_t*>(link));
      } else if (link->outgoing().is_down() || link->incoming().slot != kNone ||
                 link->peer_.attached.nonce != identity.nonce) {
        return refuse(slot);
      }
      by_slot_[slot] = link;
      link->incoming().slot = slot;
      peer.far.store(shared_.settings.distance == DistanceMode::far ? 1 : 0, std::memory_order_relaxed);
      if (const auto awaited = awaited_.extract(slot); awaited)
        for (const Awaited::Record& one : awaited.mapped().records)
          take_record(one.control, one.bytes.data(), *link);
    }
    shared_.windows.follow(*link);
    return link;
  } catch (const std::bad_alloc&) {
    log::error("shm: out of memory while a peer connects; it is refused");
    return refuse(slot);
  }
}

Link* Device::refuse(std::uint32_t slot) noexcept {
  awaited_.erase(slot);
  std::atomic<std::uint64_t>& state = shared_.home.slot(slot).state;
  const std::uint64_t ready = state.load(std::memory_order_relaxed);
  state.store(slot_state(SlotPhase::refused, slot_pid(ready), slot_pid_space(ready)),
              std::memory_order_release);
  return nullptr;
}

/// A record of a peer that is awaited, out of the way of others'. False: as many as the inbox has are kept.
bool Device::keep_record(std::uint32_t slot, const InboxSlot& record) noexcept try {
  auto& records = awaited_.find(slot)->second.records;
  if (records.size() >= shared_.own().shape().inbox_slots) return false;
  auto& kept = records.emplace_back();
  kept.control = record.control;
  std::memcpy(kept.bytes.data(), record.bytes, sizeof record.bytes);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace stria::shm
