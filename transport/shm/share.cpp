// Windows go from idle peers to busy ones. All of it happens when links are looked at (check()), so that no
// message pays for it.
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
#include <utility>

#include "transport/shm/device.hpp"

namespace stria::shm {
namespace {

constexpr std::uint32_t kBusy = 64;  // records between two looks

}  // namespace

/// How many windows busy peers lack.
std::uint32_t Device::windows_wanted() noexcept {
  std::uint32_t wanted = 0;
  for (std::uint32_t i = 0; i < links_.living(); ++i) {
    Link& link = links_.living(i);
    const bool busy = std::exchange(link.incoming().came_by_inbox, 0) >= kBusy;
    if (busy && link.incoming().slot != kNone && link.incoming().window == kNone) ++wanted;
  }
  const std::uint32_t free = wanted > 0 ? shared_.windows.free() : 0;
  return wanted > free ? wanted - free : 0;
}

/// The sender's part, for one link that is up.
void Device::adapt_window(Link& link) noexcept {
  Outgoing& outgoing = link.outgoing_;
  if (!outgoing.is_up()) return;
  if (outgoing.uses_window()) {
    if (!outgoing.give_back_if_asked()) return;
    link.describe(shared_.texts);
  } else if (outgoing.sent_since_look() < kBusy || !connector_.upgrade(link)) {
    return;
  }
  shared_.sink->link_changed(shared_.sink->self, link.incoming().cookie);
}

}  // namespace stria::shm
