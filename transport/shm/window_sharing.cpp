#include "transport/shm/window_sharing.hpp"

#include <utility>

namespace stria::shm {
namespace {

constexpr std::uint32_t kBusy = 64;  // records through the inbox between two looks make a peer busy

}  // namespace

/// How many windows busy peers lack, beside those that are free.
std::uint32_t WindowSharing::windows_wanted() noexcept {
  std::uint32_t wanted = 0;
  for (std::uint32_t i = 0; i < links_.living(); ++i) {
    Link& link = links_.living(i);
    const bool busy = std::exchange(link.incoming().came_by_inbox, 0) >= kBusy;
    if (busy && link.incoming().slot != kNone && link.incoming().window == kNone) ++wanted;
  }
  const std::uint32_t free = wanted > 0 ? shared_.windows.free() : 0;
  return wanted > free ? wanted - free : 0;
}

void WindowSharing::look() noexcept {
  const std::uint32_t wanted = windows_wanted();
  shared_.windows.cool_idle(wanted);
  shared_.windows.ask_back(wanted);
}

void WindowSharing::adapt(Link& link) noexcept {
  Outgoing& outgoing = link.outgoing();
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
