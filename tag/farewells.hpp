// Farewells: the packets that a worker still owes to peers that it gave up while they live. A worker gives a
// peer up when its own main link to the peer ends, or when the peer broke the protocol. The peer need not
// notice: its own main link may be by another device, and go on. So the worker tells the peer, by each link
// that is left between the two, that it answers nothing any more (wire::Kind::gone). Otherwise the peer's
// operations would wait for ever.
//
// A farewell for which a link has no room is sent again when the worker looks after its peers
// (STRIA_LIVENESS_MS). It does not keep the worker from sleeping: a peer that stands still may make no room
// for long.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tag/devices.hpp"
#include "tag/peer.hpp"

namespace stria::tag {

/// Threads: called with the worker's lock held.
class Farewells {
 public:
  /// The peer was given up, and is to be told so by `link`, a link of the device.
  void owe(const Peer& peer, const Device& device, stria_link_t* link) noexcept;
  /// The peer's link by that device is dead: drops the farewell that was to go by it.
  void link_down(const Peer& peer, const Device& device) noexcept;
  /// Sends the farewells for which their links have room.
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
