// The table of windows that peers took in this device's segment. Hot windows, which the receiver polls, come
// first; the others are cold (hints.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "transport/shm/window.hpp"

namespace stria::shm {

class Link;

struct Polled {
  WindowReceiver window;
  Link* link;
  std::uint32_t number;  // index of the window in the segment
  std::uint64_t seen;    // read position of the window at the last scan for idle windows
  std::uint32_t idle;    // scans in a row at which the read position had not changed
};

/// Lies in the private memory of the device. Threads: the device's thread only. The senders do not see this
/// table: a caller that makes a window hot or cold also stores that in the sender's `attention` word
/// (Windows).
class PolledWindows {
 public:
  /// So many windows stay hot even when they are idle: to poll so few costs less than to take a hint.
  static constexpr std::uint32_t kKeptHot = 8;

  void reserve(std::uint32_t windows) {
    all_.reserve(windows);
    place_.assign(windows, kNone);
  }
  std::uint32_t hot() const noexcept { return hot_; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(all_.size()); }
  const Polled* begin() const noexcept { return all_.data(); }
  /// Entries of hot windows are [0, hot()), those of cold windows [hot(), size()).
  Polled& operator[](std::uint32_t place) noexcept { return all_[place]; }
  /// The entry of a window, which must be in the table.
  Polled& of_window(std::uint32_t window) noexcept {
    STRIA_ASSERT(window < place_.size() && place_[window] != kNone, "the window is polled");
    return all_[place_[window]];
  }
  /// The entry of a window; null when the window is not in the table.
  Polled* find(std::uint32_t window) noexcept {
    return window < place_.size() && place_[window] != kNone ? &all_[place_[window]] : nullptr;
  }
  /// Adds a window as a hot one. Returns its entry, or null when the window is in the table already or is
  /// none of this device. Never allocates.
  Polled* add(const Polled& polled) noexcept {
    if (polled.number >= place_.size() || place_[polled.number] != kNone) return nullptr;
    all_.push_back(polled);
    place_[polled.number] = size() - 1;
    heat(all_.back());
    return &all_[place_[polled.number]];
  }
  void remove(Polled& polled) noexcept {
    const std::uint32_t window = polled.number;
    if (is_hot(polled)) cool(polled);
    swap(place_[window], size() - 1);
    all_.pop_back();
    place_[window] = kNone;
  }
  bool is_hot(const Polled& polled) const noexcept { return place_[polled.number] < hot_; }
  void heat(Polled& polled) noexcept { swap(place_[polled.number], hot_++); }
  void cool(Polled& polled) noexcept { swap(place_[polled.number], --hot_); }

 private:
  void swap(std::uint32_t a, std::uint32_t b) noexcept {
    std::swap(all_[a], all_[b]);
    place_[all_[a].number] = a;
    place_[all_[b].number] = b;
  }

  // Hot windows first. Never reallocated; but add(), remove(), heat() and cool() swap entries, so a reference
  // may then be to the entry of another window.
  std::vector<Polled> all_;
  std::vector<std::uint32_t> place_;  // index in all_, by the number of the window; kNone: not in the table
  std::uint32_t hot_ = 0;             // entries [0, hot_) of all_ are hot
};

}  // namespace stria::shm
