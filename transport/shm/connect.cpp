// Links come up. The side that connects maps the other's segment, takes a peer slot and perhaps a window
// there, writes who it is into the slot, and says hello through the inbox; it can send at once. The other
// side, on the hello, does the same in the opposite direction with the identity in the slot. Whoever meets a
// worker it already has a link to only adds the receiving half, so both connecting at the same time still
// makes one link on each side.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/format.hpp"
#include "base/log.hpp"
#include "transport/shm/device.hpp"
#include "transport/wire.hpp"

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
    if (known->state_ == Link::State::down && shared_.home.is_gone(*identity))
      return gone("it ended, or closed its worker, after it had connected");
    if (known->state_ == Link::State::down)
      return Error{Status::unreachable,
                   fmt::format("shm: process {} and this one gave up their connection", identity->pid)};
    known->cookie_ = peer;
    known->low_latency_ = known->low_latency_ || low_latency != 0;
    if (low_latency != 0) static_cast<void>(upgrade(*known));
    return known;
  }
  if (!has_room_for(*identity))
    return Error{
        Status::unreachable,
        fmt::format("shm: this process has {} peers, its limit (STRIA_SHM_MAX_PEERS), and process {} "
                    "could not answer",
                    shared_.own().shape().max_peers, identity->pid)};
  auto made = bring_up(*identity, low_latency != 0);
  if (!made) {
    if (shared_.home.is_gone(*identity))
      return gone("it ended, or closed its worker, before this connection");
    return std::move(made).error();
  }
  if ((*made)->peer_.has_closed()) return gone("it closed its worker");
  Link& link = links_.add(identity->worker_id, *std::move(made));
  link.cookie_ = peer;
  greet(link);
  return &link;
}

Result<void> Device::check_header(const Identity& identity, const Attached& attached) const {
  const auto refuse = [&](std::string why) {
    return Error{Status::unreachable, fmt::format("shm: process {}: {}", identity.pid, why)};
  };
  const auto& header = *reinterpret_cast<const SegmentHeader*>(attached.map.data());
  if (header.layout_version != kLayoutVersion || header.wire_version != wire::kVersion ||
      header.library_version != library_version())
    return refuse(
        fmt::format("the peer is {}, this is {}",
                    version_text(header.layout_version, header.wire_version, header.library_version),
                    version_text(kLayoutVersion, wire::kVersion, library_version())));
  const std::uint64_t expected = shared_.home.proof_for(identity.nonce, identity.worker_id);
  if (header.fingerprint != expected)
    return refuse(fmt::format("the job secrets differ (fingerprint {:016x} there, {:016x} here)",
                              header.fingerprint, expected));
  if (header.worker_id != identity.worker_id || header.segment_bytes != attached.map.bytes() ||
      plan(header.shape).bytes != attached.map.bytes())
    return refuse("the segment contradicts its address");
  return {};
}

std::uint32_t Device::claim_slot(const SegmentView& remote) const noexcept {
  const std::uint32_t count = remote.shape().max_peers;
  const std::uint32_t first = remote.header().next_peer.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t slot = (first + i) % count;
    std::uint64_t free = 0;
    if (remote.peer(slot).state.compare_exchange_strong(free, shared_.home.own_state(SlotPhase::claiming),
                                                        std::memory_order_acq_rel))
      return slot;
  }
  return kNone;
}

std::uint32_t Device::claim_window(const SegmentView& remote, std::uint32_t slot,
                                   bool low_latency) const noexcept {
  const std::uint32_t count = remote.shape().windows;
  const std::uint32_t open = open_windows(remote.shape());
  for (std::uint32_t i = 0; i < (low_latency ? count : open); ++i) {
    const std::uint32_t window = low_latency ? count - 1 - i : i;
    std::uint32_t free = 0;
    if (remote.control(window).owner.compare_exchange_strong(free, slot + 1, std::memory_order_acq_rel))
      return window;
  }
  return kNone;
}

Result<std::unique_ptr<Link>> Device::bring_up(const Identity& identity, bool low_latency,
                                               Unanswered* unanswered) {
  auto attached = attach(identity, shared_.settings.attach,
                         shared_.home.proof_for(identity.nonce, identity.worker_id), unanswered);
  if (!attached) return std::move(attached).error();
  if (auto good = check_header(identity, *attached); !good) return std::move(good).error();
  const Shape shape = reinterpret_cast<const SegmentHeader*>(attached->map.data())->shape;
  if (plan(shape).bytes != attached->map.bytes())
    return Error{Status::unreachable, "shm: the segment changed while it was checked"};

  auto link = std::make_unique<Link>(shared_);
  link->device_ = this;
  link->learns_speed_ = shared_.settings.distance != DistanceMode::near;
  if (shared_.settings.distance == DistanceMode::far) link->stores_ = StoreSpeed::always_slow();
  link->id_ = links_.size();
  link->peer_.worker_id = identity.worker_id;
  link->low_latency_ = low_latency;
  link->peer_.view = SegmentView(attached->map.data(), shape);
  link->peer_.attached = *std::move(attached);
  const SegmentView& remote = link->peer_.view;
  link->attention_ = &remote.header().armed;
  link->fence_ = remote.header().fences != 0 || !register_barrier();
  link->access_.open();

  const std::uint32_t slot = claim_slot(remote);
  if (slot == kNone)
    return Error{Status::unreachable,
                 fmt::format("shm: process {} has {} peers, its limit (STRIA_SHM_MAX_PEERS)", identity.pid,
                             shape.max_peers)};
  link->peer_.slot = slot;
  link->tx_window_ = claim_window(remote, slot, low_latency);
  link->inbox_ = InboxSender(remote, slot);
  PeerSlot& mine = remote.peer(slot);
  const Identity& own = shared_.home.identity();
  mine.nonce = own.nonce;
  mine.worker_id = own.worker_id;
  mine.pid = own.pid;
  mine.fd = own.fd;
  mine.uid = own.uid;
  mine.segment_bytes = own.segment_bytes;
  mine.door_space = own.door_space;
  mine.window.store(link->tx_window_, std::memory_order_relaxed);
  mine.attention.store(kCold, std::memory_order_relaxed);
  mine.state.store(shared_.home.own_state(SlotPhase::ready), std::memory_order_release);
  link->describe();
  return link;
}

void Link::describe() noexcept try {
  std::string path = tx_window_ == kNone
                         ? std::string("inbox")
                         : fmt::format("pio window {} KiB", peer_.view.shape().window_bytes / 1024);
  if (access_.can_copy()) path += peer_.attached.same_process ? " + copy in process" : " + cma";
  if (access_.can_map() && !peer_.attached.same_process) path += " + mapped memory";
  path += fmt::format(" (attached by {})", peer_.attached.way);
  path_ = device_->shared_.texts.keep(path).text;
} catch (const std::exception&) {
  // An old text is no harm.
}

void Device::open_window(Link& link) noexcept {
  if (link.tx_window_ == kNone) return;
  const Shape& shape = link.peer_.view.shape();
  link.tx_ = WindowSender(link.peer_.view.window(link.tx_window_), shape.window_bytes,
                          &link.peer_.view.control(link.tx_window_).consumed, shared_.settings.short_laps);
  link.attention_ = &link.peer_.own_slot().attention;
  link.pio_max_ = shape.pio_mtu > kRecordHeader ? shape.pio_mtu - kRecordHeader : 0;
}

void Device::greet(Link& link) noexcept {
  InboxSlot* slot = link.inbox_.claim();
  if (slot == nullptr) {
    ++greeting_;  // progress tries again; until then sends answer no_resource
    return;
  }
  link.inbox_.publish(*slot, make_control(RecordKind::hello, 0, 0));
  link.state_ = Link::State::up;
  open_window(link);
  link.published();
}

bool Device::upgrade(Link& link) noexcept {
  if (link.state_ != Link::State::up || link.tx_window_ != kNone) return false;
  const std::uint32_t window = claim_window(link.peer_.view, link.peer_.slot, link.low_latency_);
  if (window == kNone) return false;
  // The owner learns of it by the hint of the first record: the inbox of a busy owner may be full for long.
  link.tx_window_ = window;
  link.peer_.own_slot().window.store(window, std::memory_order_release);
  link.moving_ = true;
  ++greeting_;
  move_in(link);
  link.describe();
  return true;
}

/// Opens the window of a link that moves to it, once no packet of the link is in the inbox any more: what
/// went by the buffered path keeps its order. (The greeting is no packet.)
void Device::move_in(Link& link) noexcept {
  if (link.inbox_.sent() > 1 && !link.inbox_.is_consumed()) return;
  link.moving_ = false;
  --greeting_;
  open_window(link);
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
        auto made = bring_up(identity, false, &awaited->second.question);
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
        greet(*link);
        link->cookie_ = shared_.sink->peer_up(shared_.sink->self, link->peer_.worker_id,
                                              reinterpret_cast<stria_link_t*>(link));
      } else if (link->state_ == Link::State::down || link->rx_slot_ != kNone ||
                 link->peer_.attached.nonce != identity.nonce) {
        return refuse(slot);
      }
      by_slot_[slot] = link;
      link->rx_slot_ = slot;
      peer.far.store(shared_.settings.distance == DistanceMode::far ? 1 : 0, std::memory_order_relaxed);
      if (const auto awaited = awaited_.extract(slot); awaited)
        for (const Awaited::Record& one : awaited.mapped().records)
          take_record(one.control, one.bytes.data(), *link);
    }
    follow_window(*link);
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
