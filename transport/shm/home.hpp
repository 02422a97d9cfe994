// A device's own segment: what its peers map, who the device is to them, and the door where they ask for it.
//
//   make()  the segment is there, and no peer attaches to it ──► let_in() ──►
//   peers attach close() peers see that nothing comes from here any more;
//   ~Home() takes the door and the segment away
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "transport/contract.hpp"
#include "transport/shm/address.hpp"
#include "transport/shm/attach.hpp"
#include "transport/shm/cma.hpp"
#include "transport/shm/segment.hpp"
#include "transport/shm/settings.hpp"

namespace stria::shm {

/// The device's thread.
class Home {
 public:
  Home() = default;
  ~Home();
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  /// Errors: io_error, the system refused.
  Result<void> make(const transport::DeviceParams& params, const Settings& settings);
  /// Peers may attach. Errors: io_error, there is no door, and the settings ask for one.
  Result<void> let_in(AttachMode mode);
  /// Tells peers that nothing is delivered or sent any more. Release: everything was sent before.
  void close() noexcept {
    segment_.header().state.store(static_cast<std::uint32_t>(DeviceState::closed), std::memory_order_release);
  }
  bool is_made() const noexcept { return static_cast<bool>(segment_); }

  const SegmentView& segment() const noexcept { return segment_; }
  const Identity& identity() const noexcept { return identity_; }
  /// The slot that a peer took here.
  PeerSlot& slot(std::uint32_t i) const noexcept { return segment_.peer(i); }
  /// Slots below it may be taken.
  std::uint32_t slots_used() const noexcept {
    return std::min(segment_.header().next_peer.load(std::memory_order_acquire), segment_.shape().max_peers);
  }
  /// What this device's slot at a peer holds.
  std::uint64_t own_state(SlotPhase phase) const noexcept {
    return slot_state(phase, identity_.pid, identity_.pid_space);
  }
  /// What this device has to show to that one, and that one's header has to say: both know the job's secret.
  std::uint64_t proof_for(std::uint64_t nonce, std::uint64_t worker_id) const noexcept {
    return fingerprint(secret_, nonce, worker_id);
  }
  /// Whether the peer of a slot without a link writes nothing any more. Only certainty counts: what it still
  /// wrote would be written to what another peer has by then.
  bool is_gone(std::uint32_t slot) const noexcept;
  /// Whether the device of an address is gone for good: its process ended, or it was closed. Only certainty
  /// counts; a device of another host, or one whose namespaces cannot be seen from here, is not known to be
  /// gone.
  bool is_gone(const Identity& identity) const noexcept;

 private:
  bool is_process_gone(std::uint32_t pid, std::uint32_t pid_space) const noexcept;

  std::vector<std::byte> secret_;
  OwnedSegment memory_;
  SegmentView segment_;
  Identity identity_;
  CmaProbe probe_;
  Door door_;
};

}  // namespace stria::shm
