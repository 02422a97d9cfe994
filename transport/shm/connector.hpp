// Links come up. The side that connects maps the other's segment, takes a peer slot and perhaps a window
// there, writes what it is into the slot, and says hello through the inbox; it can send at once. The other
// side, on the hello, does the same in the opposite direction with the identity in the slot. A device that
// meets a worker it already has a link to only adds the incoming half, so both connecting at the same time
// still makes one link on each side.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.hpp"
#include "transport/shm/link.hpp"
#include "transport/shm/shared.hpp"

namespace stria::shm {

/// The device's thread.
class Connector {
 public:
  explicit Connector(Shared& shared) noexcept : shared_(shared) {}

  /// A link to the device of that identity, as the device's link `number`: with a slot there, and a window if
  /// one is free, and before its greeting. Errors: unreachable; with `unanswered` those of attach() that
  /// pass.
  Result<std::unique_ptr<Link>> bring_up(const Identity& identity, std::uint32_t number, bool low_latency,
                                         Unanswered* unanswered = nullptr);
  /// Says hello, now or by go_on() as soon as there is room; until then sends answer no_resource.
  void greet(Link& link) noexcept;
  /// A window for a link that has none, if one is free. True: the link has one.
  bool upgrade(Link& link) noexcept;

  /// Some link waits for go_on().
  bool is_due() const noexcept { return waiting_ != 0; }
  /// What the link waits for may be there.
  void go_on(Link& link) noexcept;
  /// The link is about to go down.
  void forget(const Link& link) noexcept {
    if (link.outgoing().is_waiting()) --waiting_;
  }

 private:
  Result<void> check_header(const Identity& identity, const Attached& attached) const;
  std::uint32_t claim_slot(const SegmentView& remote) const noexcept;

  Shared& shared_;
  std::uint32_t waiting_ = 0;  // links whose hello found the peer's inbox full, or that move to a window
};

}  // namespace stria::shm
