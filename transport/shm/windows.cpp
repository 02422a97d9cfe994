#include "transport/shm/windows.hpp"

#include "transport/shm/link.hpp"
#include "transport/shm/wakeup.hpp"

namespace stria::shm {
namespace {

/// A cold window without a record in so many scans of cool_idle() is idle enough that its sender is asked to
/// give it back.
constexpr std::uint32_t kIdleScans = 2;

}  // namespace

bool Windows::has_nothing() const noexcept {
  const Polled* polled = polled_.begin();
  for (std::uint32_t left = polled_.hot(); left != 0; --left, ++polled)
    if (!polled->link->incoming().broken && polled->window.has_record()) return false;
  return true;
}

void Windows::follow(Link& link) noexcept {
  Incoming& incoming = link.incoming();
  const SegmentView& own = own_.view();
  const std::uint32_t window = own.peer(incoming.slot).window.load(std::memory_order_acquire);
  if (incoming.window != kNone && incoming.window != window) release(link);
  if (incoming.window != kNone || window >= own.shape().windows || owner_of(window) != incoming.slot + 1)
    return;
  const WindowReceiver receiver(own.window(window), own.shape().window_bytes, &own.control(window).consumed);
  if (const Polled* added = polled_.add({receiver, &link, window, 0, 0}); added != nullptr) {
    incoming.window = window;
    tell_hot(*added);
  }
}

/// Stops polling the window of the link and frees the window. The sender writes to the window no more.
void Windows::release(Link& link) noexcept {
  const std::uint32_t window = std::exchange(link.incoming().window, kNone);
  Polled* const polled = polled_.find(window);
  if (polled == nullptr) return;
  tell_cold(*polled);  // the next window of this peer starts cold: its first record comes with a hint
  polled_.remove(*polled);
  reset(window);
}

void Windows::reset(std::uint32_t window) const noexcept {
  const SegmentView& own = own_.view();
  reset_window(own.window(window), own.shape().window_bytes, own.control(window));
}

void Windows::drop(Link& link) noexcept {
  if (Polled* polled = polled_.find(link.incoming().window); polled != nullptr) polled_.remove(*polled);
  link.incoming().window = kNone;
}

void Windows::free_of(std::uint32_t slot) noexcept {
  for (std::uint32_t i = 0; i < own_.view().shape().windows; ++i)
    if (owner_of(i) == slot + 1) reset(i);
}

void Windows::warm(std::uint32_t window) noexcept {
  Polled* const polled = polled_.find(window);
  if (polled == nullptr || polled_.is_hot(*polled)) return;
  tell_hot(*polled);
  polled_.heat(*polled);
}

void Windows::cool_idle(std::uint32_t wanted) noexcept {
  const std::uint32_t before = polled_.hot();
  for (std::uint32_t i = 0; i < polled_.size(); ++i) {
    Polled& polled = polled_[i];
    const bool idle = std::exchange(polled.seen, polled.window.position()) == polled.window.position();
    polled.idle = idle ? polled.idle + 1 : 0;
  }
  for (std::uint32_t i = before; i > 0; --i) {
    Polled& polled = polled_[i - 1];
    if (polled.idle == 0 || (polled_.hot() <= PolledWindows::kKeptHot && wanted == 0)) continue;
    tell_cold(polled);
    polled_.cool(polled);
  }
  if (polled_.hot() == before) return;
  // A sender that did not see its window become cold left no hint, but has published its record before this
  // barrier, so the peek below sees the record.
  Wakeup::barrier();
  for (std::uint32_t i = polled_.hot(); i < before; ++i) {
    if (polled_[i].window.peek() == 0) continue;
    tell_hot(polled_[i]);
    polled_.heat(polled_[i]);
  }
}

std::uint32_t Windows::free() const noexcept {
  const SegmentView& own = own_.view();
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < open_windows(own.shape()); ++i)
    if (own.control(i).owner.load(std::memory_order_relaxed) == 0) ++count;
  return count;
}

void Windows::ask_back(std::uint32_t wanted) noexcept {
  if (wanted == 0 && !asked_) return;
  asked_ = wanted != 0;
  for (std::uint32_t i = polled_.hot(); i < polled_.size(); ++i) {
    const Polled& polled = polled_[i];
    std::atomic<std::uint32_t>& attention = own_.slot(polled.link->incoming().slot).attention;
    const bool is_asked = attention.load(std::memory_order_relaxed) == kAsked;
    if (!asked_) {
      if (is_asked) tell_cold(polled);
    } else if (wanted > 0 && !is_asked && polled.idle >= kIdleScans &&
               polled.number < open_windows(own_.view().shape())) {
      attention.store(kAsked, std::memory_order_relaxed);
      --wanted;
    }
  }
}

void Windows::arm() noexcept {
  armed_ = true;
  for (std::uint32_t i = 0; i < polled_.hot(); ++i) {
    polled_[i].window.publish();
    tell_cold(polled_[i]);
  }
}

void Windows::disarm() noexcept {
  armed_ = false;
  for (std::uint32_t i = 0; i < polled_.hot(); ++i) tell_hot(polled_[i]);
}

void Windows::tell_hot(const Polled& polled) const noexcept {
  own_.slot(polled.link->incoming().slot).attention.store(armed_ ? kCold : kHot, std::memory_order_relaxed);
}

void Windows::tell_cold(const Polled& polled) const noexcept {
  own_.slot(polled.link->incoming().slot).attention.store(kCold, std::memory_order_relaxed);
}

}  // namespace stria::shm
