// Moves windows from idle peers to busy peers. All of it happens when the device looks after its links
// (Teardown::check()), so that no message pays for it.
//
// The owner of the windows counts the records of each peer that come through the inbox. When a peer without
// a window is busy and no window is free, the owner asks the senders of idle windows to give them back:
// attention = kAsked, which includes what kCold asks for (hints.hpp). A sender that is asked closes its
// window once the owner has taken out every record in it, and leaves a hint; the owner then clears the
// window and frees it. A busy sender without a window takes a free one, and the hint of its first record
// tells the owner. Neither step needs room in the inbox, which busy peers keep full. Low-latency links keep
// their windows.
//
// Order: the last record in a window is taken out before the sender uses the inbox, and its last record in
// the inbox is taken out before it uses a window. So each of the two paths of a link keeps its order, as the
// contract promises.
#pragma once

#include <cstdint>

#include "transport/shm/connector.hpp"
#include "transport/shm/links.hpp"
#include "transport/shm/shared.hpp"

namespace stria::shm {

/// Threads: the device's thread only.
class WindowSharing {
 public:
  WindowSharing(Shared& shared, Connector& connector, Links& links) noexcept
      : shared_(shared), connector_(connector), links_(links) {}

  /// For the windows in this device's segment: makes idle windows cold, and asks idle peers for as many
  /// windows as busy peers lack.
  void look() noexcept;
  /// For the window of a living link in its peer's segment: gives it back if the peer asks for it, or takes
  /// one if this device sends much without one.
  void adapt(Link& link) noexcept;

 private:
  std::uint32_t windows_wanted() noexcept;

  Shared& shared_;
  Connector& connector_;
  Links& links_;
};

}  // namespace stria::shm
