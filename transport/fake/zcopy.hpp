// A zero-copy send under way, shared by the device that sends and the packet at its peer. The peer reads the
// memory as late as it can: when it delivers the packet, or piece by piece while it places the payload. Only
// then is the completion due. So a sender that gives its memory back before the completion is found out: the
// wrong bytes arrive.
#pragma once

#include <cstdint>

#include "transport/fake/device.hpp"
#include "transport/fake/fabric.hpp"

namespace stria::fake {

/// Under the fabric's lock.
struct ZcopySend {
  Link* link;  ///< of the sender
  transport::Payload memory;
  transport::Completion* completion;
  std::uint32_t unread = 0;  ///< packets that need the memory
  std::uint64_t due = 0;     ///< once none does: step of the sender

  bool is_due(std::uint64_t step) const noexcept { return unread == 0 && due <= step; }
  /// One packet has all of it, or is lost on its way.
  void was_read() noexcept {
    if (--unread != 0) return;
    Device& sender = link->owner();
    due = sender.step() + sender.fabric().random(sender.fabric().options().delay);
    sender.wake();
  }
};

}  // namespace stria::fake
