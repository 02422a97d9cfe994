// Brings links up. The connecting device maps the peer's segment, takes a peer slot there and a window if
// one is free, writes its identity into the slot, and sends a hello through the peer's inbox; it can send at
// once. The peer, on the hello, connects back by the identity in the slot. A device that already has a link
// to the worker in the slot only adds the incoming part of that link, so two devices that connect to each
// other at the same time still have one link each.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "transport/shm/link.hpp"
#include "transport/shm/shared.hpp"

namespace stria::shm {

/// Threads: the device's thread only.
class Connector {
 public:
  explicit Connector(Shared& shared) noexcept : shared_(shared) {}

  /// Makes a link to the device `identity`, as link `number` of this device. The link has a peer slot, and a
  /// window if one is free; send_hello() is still to be called. Errors: unreachable; with `pending` also
  /// in_progress and no_resource, after which the caller may try again (attach()).
  Result<std::unique_ptr<Link>> bring_up(const Identity& identity, std::uint32_t number, bool low_latency,
                                         PendingAttach* pending = nullptr);
  /// Sends the hello, or leaves it to go_on() when the peer's inbox is full; until it is sent, sends of the
  /// link answer no_resource.
  void send_hello(Link& link) noexcept;
  /// Takes a window for a link that has none. True: it took one. False: none is free, or the link is not up
  /// or has a window already.
  bool upgrade(Link& link) noexcept;

  /// Whether go_on() is to be called for some link.
  bool is_due() const noexcept { return waiting_ != 0; }
  /// Continues a link that waits: to send its hello, or to move to the window that it took. Does nothing for
  /// other links.
  void go_on(Link& link) noexcept;
  /// To be called before the link goes down: it does not wait any more.
  void forget(const Link& link) noexcept {
    if (link.outgoing().is_waiting()) --waiting_;
  }

 private:
  Result<void> check_header(const Identity& identity, const Attached& attached) const;
  std::uint32_t claim_slot(const SegmentView& remote) const noexcept;

  Shared& shared_;
  std::uint32_t waiting_ = 0;  // links that go_on() has to continue
};

}  // namespace stria::shm
