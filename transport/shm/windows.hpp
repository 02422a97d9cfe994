// The windows in this device's segment that peers took: which of them are hot, that is, polled, and what
// their senders are told about it (hints.hpp). While the device sleeps, every sender is told that its window
// is cold.
#pragma once

#include <cstdint>
#include <utility>

#include "transport/shm/own_segment.hpp"
#include "transport/shm/polled.hpp"

namespace stria::shm {

class Link;

/// Threads: the device's thread only.
class Windows {
 public:
  explicit Windows(const OwnSegment& own) noexcept : own_(own) {}
  /// To be called once, when the device's segment exists.
  void open() { polled_.reserve(own_.view().shape().windows); }

  /// The table of these windows: a window is in it while a link has it. Callers poll through it; which
  /// windows are hot is changed by Windows alone, as senders have to be told.
  PolledWindows& polled() noexcept { return polled_; }
  const PolledWindows& polled() const noexcept { return polled_; }
  /// Whether no hot window has a record, and no credits are due to their senders.
  bool is_quiet() const noexcept {
    const Polled* polled = polled_.begin();
    for (std::uint32_t left = polled_.hot(); left != 0; --left, ++polled)
      if (polled->window.has_record() || polled->window.owes()) return false;
    return true;
  }
  /// Whether no hot window has a record; records of broken links do not count.
  bool has_nothing() const noexcept;

  /// Follows what the peer of a link wrote in its slot: adds a window that it took, as a hot one, and frees
  /// a window that it gave back.
  void follow(Link& link) noexcept;
  /// Stops polling the window of a link that goes down. The window stays taken.
  void drop(Link& link) noexcept;
  /// Frees every window that the peer of `slot` took: the peer is gone.
  void free_of(std::uint32_t slot) noexcept;
  /// Makes the windows hot about which senders left hints. Calls meet(slot) for a window that is not in
  /// the table yet: the peer of `slot` took it just now, or has no link yet.
  template <class Meet>
  void follow_hints(Meet&& meet) noexcept {
    own_.view().header().hints.take(own_.view().shape().windows, [&](std::uint32_t window) {
      if (Polled* const polled = polled_.find(window); polled != nullptr)
        follow(*polled->link);
      else if (const std::uint32_t owner = owner_of(window); owner != 0)
        meet(owner - 1);
      warm(window);
    });
  }
  bool has_hints() const noexcept { return own_.view().header().hints.any(); }

  /// Makes hot windows cold that had no record since the last call; PolledWindows::kKeptHot windows stay
  /// hot, unless busy peers lack windows (`wanted` > 0).
  void cool_idle(std::uint32_t wanted) noexcept;
  /// How many of the windows that any link may take are free.
  std::uint32_t free() const noexcept;
  /// Asks the senders of `wanted` more idle windows to give them back. 0: takes all such requests back.
  void ask_back(std::uint32_t wanted) noexcept;

  /// Tells all senders that their windows are cold: the device is about to sleep.
  void arm() noexcept;
  /// Tells the senders of hot windows that these are hot: the device is awake.
  void disarm() noexcept;
  bool is_armed() const noexcept { return armed_; }

 private:
  /// Peer slot + 1 of the peer that took the window; 0: it is free.
  std::uint32_t owner_of(std::uint32_t window) const noexcept {
    return own_.view().control(window).owner.load(std::memory_order_acquire);
  }
  void warm(std::uint32_t window) noexcept;
  void release(Link& link) noexcept;
  void reset(std::uint32_t window) const noexcept;
  /// Tells the sender of a window whether it is hot. While the device sleeps, each sender is told that
  /// its window is cold.
  void tell_hot(const Polled& polled) const noexcept;
  void tell_cold(const Polled& polled) const noexcept;

  PolledWindows polled_;
  bool armed_ = false;
  bool asked_ = false;  // some sender may have been asked for its window
  const OwnSegment& own_;
};

}  // namespace stria::shm
