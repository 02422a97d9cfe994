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

constexpr std::uint32_t kBusy = 64;      // records between two looks
constexpr std::uint32_t kIdleLooks = 2;  // without a record: its sender is asked for the window

}  // namespace

/// How many windows busy peers lack.
std::uint32_t Device::windows_wanted() noexcept {
  std::uint32_t wanted = 0;
  for (std::uint32_t i = 0; i < links_.living(); ++i) {
    Link& link = links_.living(i);
    const bool busy = std::exchange(link.came_by_inbox_, 0) >= kBusy;
    if (busy && link.rx_slot_ != kNone && link.rx_window_ == kNone) ++wanted;
  }
  const std::uint32_t open = open_windows(shared_.own().shape());
  for (std::uint32_t i = 0; i < open && wanted > 0; ++i)
    if (shared_.own().control(i).owner.load(std::memory_order_relaxed) == 0) --wanted;
  return wanted;
}

void Device::ask_back(std::uint32_t wanted) noexcept {
  if (wanted == 0 && !asked_) return;
  asked_ = wanted != 0;
  for (std::uint32_t i = polled_.hot(); i < polled_.size(); ++i) {
    const Polled& polled = polled_[i];
    std::atomic<std::uint32_t>& attention = shared_.home.slot(polled.link->rx_slot_).attention;
    const bool is_asked = attention.load(std::memory_order_relaxed) == kAsked;
    if (!asked_) {
      if (is_asked) call_cold(polled);
    } else if (wanted > 0 && !is_asked && polled.idle >= kIdleLooks &&
               polled.number < open_windows(shared_.own().shape())) {
      attention.store(kAsked, std::memory_order_relaxed);
      --wanted;
    }
  }
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
  shared_.sink->link_changed(shared_.sink->self, link.cookie_);
}

/// The owner's part: the window that the peer says it has is polled, and one that it gave back is freed.
void Device::follow_window(Link& link) noexcept {
  const std::uint32_t window = shared_.home.slot(link.rx_slot_).window.load(std::memory_order_acquire);
  if (link.rx_window_ != kNone && link.rx_window_ != window) release_window(link);
  if (link.rx_window_ != kNone || window >= shared_.own().shape().windows ||
      shared_.own().control(window).owner.load(std::memory_order_acquire) != link.rx_slot_ + 1)
    return;
  const WindowReceiver receiver(shared_.own().window(window), shared_.own().shape().window_bytes,
                                &shared_.own().control(window).consumed);
  if (const Polled* added = polled_.add({receiver, &link, window, 0, 0}); added != nullptr) {
    link.rx_window_ = window;
    call_hot(*added);
  }
}

/// A hint about a window that is not polled, or that its peer gave back.
void Device::look_at_window(std::uint32_t window) noexcept {
  if (const Polled* polled = polled_.find(window); polled != nullptr) {
    follow_window(*polled->link);
    return;
  }
  const std::uint32_t owner = shared_.own().control(window).owner.load(std::memory_order_acquire);
  if (owner != 0) static_cast<void>(welcome(owner - 1));
}

/// Its sender writes there no more.
void Device::release_window(Link& link) noexcept {
  const std::uint32_t window = std::exchange(link.rx_window_, kNone);
  Polled* const polled = polled_.find(window);
  if (polled == nullptr) return;
  call_cold(*polled);  // the next one of this peer begins with a hint
  polled_.remove(*polled);
  reset_window(shared_.own().window(window), shared_.own().shape().window_bytes,
               shared_.own().control(window));
}

}  // namespace stria::shm
