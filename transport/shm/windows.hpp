// The windows of this device that peers took: which of them are polled, and what their senders are told about
// it (hints.hpp). While the device sleeps, no sender may take its window for polled.
#pragma once

#include <cstdint>
#include <utility>

#include "transport/shm/home.hpp"
#include "transport/shm/polled.hpp"

namespace stria::shm {

class Link;

/// The device's thread.
class Windows {
 public:
  explicit Windows(const Home& home) noexcept : home_(home) {}
  /// The segment is made.
  void open() { polled_.reserve(home_.segment().shape().windows); }

  /// The window of a link that has one.
  Polled& of_window(std::uint32_t window) noexcept { return polled_.of_window(window); }
  Polled* find(std::uint32_t window) noexcept { return polled_.find(window); }
  /// Those that are polled are [0, hot()), the others [hot(), size()).
  Polled& operator[](std::uint32_t place) noexcept { return polled_[place]; }
  std::uint32_t hot() const noexcept { return polled_.hot(); }
  std::uint32_t size() const noexcept { return polled_.size(); }
  /// Nothing came through those that are polled, and no credits are due to their senders.
  bool is_quiet() const noexcept {
    const Polled* polled = polled_.begin();
    for (std::uint32_t left = polled_.hot(); left != 0; --left, ++polled)
      if (polled->window.has_record() || polled->window.owes()) return false;
    return true;
  }
  /// Nothing came through those that are polled, whatever broken peers wrote.
  bool has_nothing() const noexcept;

  /// The window that the peer says it has is polled, and one that it gave back is freed.
  void follow(Link& link) noexcept;
  /// The link goes down: its window is not polled any more, and stays taken.
  void drop(Link& link) noexcept;
  /// The peer of that slot is gone: what it took is free.
  void free_of(std::uint32_t slot) noexcept;
  /// Looks at windows that senders left hints about; they are polled from now on, in their turn. meet(slot):
  /// the window is of a peer that has no link yet.
  template <class Meet>
  void follow_hints(Meet&& meet) noexcept {
    home_.segment().header().hints.take(home_.segment().shape().windows, [&](std::uint32_t window) {
      if (Polled* const polled = polled_.find(window); polled != nullptr)
        follow(*polled->link);
      else if (const std::uint32_t owner = owner_of(window); owner != 0)
        meet(owner - 1);
      warm(window);
    });
  }
  bool has_hints() const noexcept { return home_.segment().header().hints.any(); }

  /// Windows that nothing came through since the last look become cold, but for a few. `wanted`: windows that
  /// busy peers lack, so that those few cool, too.
  void cool_idle(std::uint32_t wanted) noexcept;
  /// Windows that any link may take and none has.
  std::uint32_t free() const noexcept;
  /// Asks the senders of idle windows for so many; for none, asks no more.
  void ask_back(std::uint32_t wanted) noexcept;

  /// The device is about to sleep: all windows are cold.
  void arm() noexcept;
  void disarm() noexcept;
  bool is_armed() const noexcept { return armed_; }

 private:
  /// The peer's slot + 1, or 0.
  std::uint32_t owner_of(std::uint32_t window) const noexcept {
    return home_.segment().control(window).owner.load(std::memory_order_acquire);
  }
  void warm(std::uint32_t window) noexcept;
  void release(Link& link) noexcept;
  void reset(std::uint32_t window) const noexcept;
  /// Tells the sender of a window whether it is hot. While the device sleeps, each sender hears that its
  /// window is cold.
  void call_hot(const Polled& polled) const noexcept;
  void call_cold(const Polled& polled) const noexcept;

  PolledWindows polled_;
  bool armed_ = false;
  bool asked_ = false;  // for some window
  const Home& home_;
};

}  // namespace stria::shm
