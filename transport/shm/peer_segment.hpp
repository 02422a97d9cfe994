// The segment of a peer, mapped here, and this device's place in it. All parts of a link refer to it.
#pragma once

#include <cstdint>

#include "transport/shm/attach.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

/// The device's thread. Empty when nothing of the peer is looked at any more.
struct PeerSegment {
  SegmentView view;
  Attached attached;
  std::uint64_t worker_id = 0;
  std::uint32_t slot = kNone;  ///< this device's, in the peer's table

  PeerSlot& own_slot() const noexcept { return view.peer(slot); }
  /// The peer's caches are far, as it learnt from the cells of this device.
  bool is_far() const noexcept { return own_slot().far.load(std::memory_order_relaxed) != 0; }
  bool has_closed() const noexcept {
    return view.header().state.load(std::memory_order_acquire) !=
           static_cast<std::uint32_t>(DeviceState::open);
  }
  /// The peer writes nothing any more: its slot and window can go to others.
  bool has_ended() const noexcept { return has_closed() || !attached.is_alive(); }
  /// The slot is as this device left it; `ready` is Home::own_state() of that. False: the peer refused this
  /// device, or noticed its end.
  bool keeps_slot(std::uint64_t ready) const noexcept {
    return own_slot().state.load(std::memory_order_acquire) == ready;
  }
  void detach() noexcept {
    view = SegmentView();
    attached = Attached();
  }
};

}  // namespace stria::shm
