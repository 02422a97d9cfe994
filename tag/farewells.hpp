// Farewells: what a worker still owes to peers that it gave up while they live. A worker gives a peer up when
// its own main link to the peer ends, or when the peer broke the protocol. The peer need not see any of that:
// its main link may be one by another device, and go on. So it is told, by each link that is left between the
// two, that nothing will be answered any more (wire::Kind::gone). Without that its operations would wait for
// ever.
//
// A farewell that has no room is sent again when the worker looks after its peers (STRIA_LIVENESS_MS). It
// keeps no worker from sleeping: a peer that stands still may take none for long.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tag/devices.hpp"
#include "tag/peer.hpp"

namespace stria::tag {

/// Threads: the worker's lock.
class Farewells {
 public:
  /// The peer, which was given up, is to be told so by this link of the device.
  void owe(const Peer& peer, const Device& device, stria_link_t* link) noexcept;
  /// The peer's link by that device is dead.
  void link_down(const Peer& peer, const Device& device) noexcept;
  /// Sends what has room.
  void send() noexcept;

 private:
  struct Owed {
    const Peer* peer;
    const Device* device;
    stria_link_t* link;
  };

  std::vector<Owed> owed_;
};

}  // namespace stria::tag
