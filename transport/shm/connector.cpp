#include "transport/shm/connector.hpp"

#include <string>
#include <utility>

#include "base/format.hpp"
#include "transport/wire.hpp"

namespace stria::shm {

/// Checks the header of a mapped segment against the address that named it: versions, job secret, sizes.
/// Everything in the header was written by another process.
Result<void> Connector::check_header(const Identity& identity, const Attached& attached) const {
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
  const std::uint64_t expected = shared_.own.proof_for(identity.nonce, identity.worker_id);
  if (header.fingerprint != expected)
    return refuse(fmt::format("the job secrets differ (fingerprint {:016x} there, {:016x} here)",
                              header.fingerprint, expected));
  if (header.worker_id != identity.worker_id || header.segment_bytes != attached.map.bytes() ||
      plan(header.shape).bytes != attached.map.bytes())
    return refuse("the segment contradicts its address");
  return {};
}

/// Claims a free peer slot in a peer's segment. Returns its number, or kNone when all slots are taken.
std::uint32_t Connector::claim_slot(const SegmentView& remote) const noexcept {
  const std::uint32_t count = remote.shape().max_peers;
  const std::uint32_t first = remote.header().next_peer.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t slot = (first + i) % count;
    std::uint64_t free_state = 0;
    if (remote.peer(slot).state.compare_exchange_strong(
            free_state, shared_.own.own_state(SlotPhase::claiming), std::memory_order_acq_rel))
      return slot;
  }
  return kNone;
}

Result<std::unique_ptr<Link>> Connector::bring_up(const Identity& identity, std::uint32_t number,
                                                  bool low_latency, PendingAttach* pending) {
  auto attached = attach(identity, shared_.settings.attach,
                         shared_.own.proof_for(identity.nonce, identity.worker_id), pending);
  if (!attached) return std::move(attached).error();
  if (auto good = check_header(identity, *attached); !good) return std::move(good).error();
  const Shape shape = reinterpret_cast<const SegmentHeader*>(attached->map.data())->shape;
  // From here on only this copy of the shape is used, so it is checked once more.
  if (plan(shape).bytes != attached->map.bytes())
    return Error{Status::unreachable, "shm: the segment changed while it was checked"};

  auto link = std::make_unique<Link>(shared_);
  PeerSegment& peer = link->peer();
  peer.worker_id = identity.worker_id;
  peer.view = SegmentView(attached->map.data(), shape);
  peer.attached = *std::move(attached);
  if (const DistanceMode mode = shared_.settings.distance; mode != DistanceMode::automatic)
    peer.distance.force(mode == DistanceMode::far);
  peer.compare_caches(shared_.own.last_cache());
  link->access().open();

  const std::uint32_t slot = claim_slot(peer.view);
  if (slot == kNone)
    return Error{Status::unreachable,
                 fmt::format("shm: process {} has {} peers, its limit (STRIA_SHM_MAX_PEERS)", identity.pid,
                             shape.max_peers)};
  peer.slot = slot;
  link->outgoing().begin(number, low_latency);
  PeerSlot& own_slot = peer.own_slot();  // this device's slot in the peer's segment
  own_slot.identity = shared_.own.identity();
  own_slot.window.store(link->outgoing().window_number(), std::memory_order_relaxed);
  own_slot.attention.store(kCold, std::memory_order_relaxed);
  own_slot.distance.store(static_cast<std::uint32_t>(Verdict::none), std::memory_order_relaxed);
  // Release: a peer that loads `ready` with acquire (peers.cpp) sees the identity and the window above.
  own_slot.state.store(shared_.own.own_state(SlotPhase::ready), std::memory_order_release);
  link->describe(shared_.texts);
  return link;
}

void Connector::send_hello(Link& link) noexcept {
  if (!link.outgoing().go_on()) ++waiting_;
}

bool Connector::upgrade(Link& link) noexcept {
  Outgoing& outgoing = link.outgoing();
  if (!outgoing.take_window()) return false;
  if (!outgoing.go_on()) ++waiting_;
  link.describe(shared_.texts);
  return true;
}

void Connector::go_on(Link& link) noexcept {
  if (link.outgoing().is_waiting() && link.outgoing().go_on()) --waiting_;
}

}  // namespace stria::shm
