// The segment of a peer, mapped here, this device's slot in it, and how far the peer is. All parts of a link
// refer to it.
#pragma once

#include <cstdint>

#include "transport/shm/attach.hpp"
#include "transport/shm/distance.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

/// Threads: the device's thread only. Empty after detach(): nothing of the peer is looked at any more.
struct PeerSegment {
  SegmentView view;
  Attached attached;
  std::uint64_t worker_id = 0;
  std::uint32_t slot = kNone;  ///< this device's peer slot in the peer's segment
  Distance distance;           ///< of the core that the peer runs on

  PeerSlot& own_slot() const noexcept { return view.peer(slot); }
  /// Whether the peer's device was closed.
  bool has_closed() const noexcept {
    return view.header().state.load(std::memory_order_acquire) !=
           static_cast<std::uint32_t>(DeviceState::open);
  }
  /// Whether the peer closed or died, and so writes nothing any more: its slot and window can go to others.
  bool has_ended() const noexcept { return has_closed() || !attached.is_alive(); }
  /// Whether the state of this device's slot is still `ready`, which is
  /// OwnSegment::own_state(SlotPhase::ready). False: the peer refused this device, or noticed its end.
  bool keeps_slot(std::uint64_t ready) const noexcept {
    return own_slot().state.load(std::memory_order_acquire) == ready;
  }
  /// Compares the cache of this device's core with that of the peer's. True: distance.is_far() changed.
  bool compare_caches(std::uint32_t own) noexcept {
    return distance.compare(own, view.header().last_cache.load(std::memory_order_relaxed));
  }
  /// What the peer has measured of the distance to this device.
  Verdict published_verdict() const noexcept {
    return static_cast<Verdict>(own_slot().distance.load(std::memory_order_relaxed));
  }
  void detach() noexcept {
    view = SegmentView();
    attached = Attached();
  }
};

}  // namespace stria::shm
