// A device's own segment, which peers map, the device's identity, and the door where peers ask for the
// segment.
//
//   make()          creates the segment; no peer attaches to it yet
//   admit_peers()   peers may attach
//   close()         peers see that this device sends and delivers nothing any more
//   ~OwnSegment()   closes the segment, shuts the door, and unmaps the segment
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "hw/last_cache.hpp"
#include "transport/contract.hpp"
#include "transport/shm/address.hpp"
#include "transport/shm/attach.hpp"
#include "transport/shm/cma.hpp"
#include "transport/shm/segment.hpp"
#include "transport/shm/settings.hpp"

namespace stria::shm {

/// Threads: the device's thread only.
class OwnSegment {
 public:
  OwnSegment() = default;
  ~OwnSegment();
  OwnSegment(const OwnSegment&) = delete;
  OwnSegment& operator=(const OwnSegment&) = delete;
  /// Creates the segment and the identity of the device. Errors: io_error, the system refused.
  Result<void> make(const transport::DeviceParams& params, const Settings& settings);
  /// Opens the segment, the door and the registry for peers. A door that cannot be opened is an error only
  /// if `mode` is `socket`: io_error or unreachable, with the reason.
  Result<void> admit_peers(AttachMode mode);
  /// Tells peers that this device delivers and sends nothing any more. Release: a peer that sees it sees
  /// everything that was sent before.
  void close() noexcept {
    view_.header().state.store(static_cast<std::uint32_t>(DeviceState::closed), std::memory_order_release);
  }
  /// Tells peers which last-level cache the calling thread's core uses (distance.hpp), if that has changed.
  /// The thread that calls check() also progresses the worker, so its core is one that sends and receives.
  /// Where threads on cores of different caches use the device in turn, no number is right for all of them:
  /// the last caller of check() counts until the next check. A wrong distance costs time, and no more: it
  /// chooses how bytes are stored and moved.
  void publish_cache() noexcept {
    if (last_cache_.has_changed())
      view_.header().last_cache.store(last_cache_.number(), std::memory_order_relaxed);
  }
  /// The cache that peers were told of.
  std::uint32_t last_cache() const noexcept {
    return view_.header().last_cache.load(std::memory_order_relaxed);
  }
  bool is_made() const noexcept { return static_cast<bool>(view_); }

  const SegmentView& view() const noexcept { return view_; }
  const Identity& identity() const noexcept { return identity_; }
  /// Peer slot `i` of this segment.
  PeerSlot& slot(std::uint32_t i) const noexcept { return view_.peer(i); }
  /// Only peer slots below this number may be taken; those above were never used.
  std::uint32_t slots_used() const noexcept {
    return std::min(view_.header().next_peer.load(std::memory_order_acquire), view_.shape().max_peers);
  }
  /// The state word of this device's slot in a peer's segment, in this phase.
  std::uint64_t own_state(SlotPhase phase) const noexcept {
    return slot_state(phase, identity_.pid, identity_.pid_space);
  }
  /// The fingerprint of another device, given by its nonce and worker id: its header must have it, and this
  /// device must show it at the door of the other one. It proves that both know the job secret.
  std::uint64_t proof_for(std::uint64_t nonce, std::uint64_t worker_id) const noexcept {
    return fingerprint(secret_, nonce, worker_id);
  }
  /// Whether the peer of a slot that has no link is gone, and so writes nothing any more. False unless that
  /// is certain: the slot goes to another peer then, and a late write would damage what is the other peer's.
  bool is_gone(std::uint32_t slot) const noexcept;
  /// Whether a device is gone for good: its process ended, or the device was closed. False unless that is
  /// certain: of a device on another host, or in namespaces that cannot be seen from here, it is never
  /// known.
  bool is_gone(const Identity& identity) const noexcept;

 private:
  bool is_process_gone(std::uint32_t pid, std::uint32_t pid_space) const noexcept;

  std::vector<std::byte> secret_;
  SegmentMemory memory_;
  SegmentView view_;
  Identity identity_;
  CmaProbe probe_;
  Door door_;
  hw::LastCache last_cache_;
};

}  // namespace stria::shm
