// Windows go from idle peers to busy ones. All of it happens when links are looked at (Ends::check()), so
// that no message pays for it.
//
// The owner of the windows counts what comes through the inbox. When a peer without a window is busy and none
// is free, it asks the senders of idle ones for them: attention = kAsked, which tells a sender no less than
// kCold. A sender that is asked closes its window when all of it was taken out, and leaves a hint about it;
// the owner then clears the window and frees it. A busy sender without a window takes one that is free, and
// the hint of its first record tells the owner. Neither needs room in the inbox, which busy peers keep full.
// Low-latency links keep theirs.
//
// Order: what went by a window was taken out before the next record goes by the inbox, and what went by the
// inbox before the first goes by the window. So each of the two paths of a link keeps its order, as the
// contract promises.
#pragma once

#include <cstdint>

#include "transport/shm/connector.hpp"
#include "transport/shm/links.hpp"
#include "transport/shm/shared.hpp"

namespace stria::shm {

/// The device's thread.
class Sharing {
 public:
  Sharing(Shared& shared, Connector& connector, Links& links) noexcept
      : shared_(shared), connector_(connector), links_(links) {}

  /// The owner's part: asks idle peers for as many windows as busy ones lack.
  void look() noexcept;
  /// The sender's part, for one living link.
  void adapt(Link& link) noexcept;

 private:
  std::uint32_t windows_wanted() noexcept;

  Shared& shared_;
  Connector& connector_;
  Links& links_;
};

}  // namespace stria::shm
