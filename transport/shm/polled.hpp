// The windows that peers opened in this device, hot ones first (hints.hpp).
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
  std::uint32_t number;  // of the window
  std::uint64_t seen;    // where the receiver stood when it was looked for idle windows last
  std::uint32_t idle;    // so many looks ago it was somewhere else
};

/// Private memory, one thread. Keeps no promise to senders: who moves a window says so in its attention.
class PolledWindows {
 public:
  /// Windows that are polled whether they are idle or not: so few cost less than a hint.
  static constexpr std::uint32_t kKeptHot = 8;

  void reserve(std::uint32_t windows) {
    all_.reserve(windows);
    place_.assign(windows, kNone);
  }
  std::uint32_t hot() const noexcept { return hot_; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(all_.size()); }
  const Polled* begin() const noexcept { return all_.data(); }
  Polled& operator[](std::uint32_t place) noexcept { return all_[place]; }
  /// Of a window that is in here.
  Polled& of_window(std::uint32_t window) noexcept {
    STRIA_ASSERT(window < place_.size() && place_[window] != kNone, "the window is polled");
    return all_[place_[window]];
  }
  /// Null: nobody opened the window.
  Polled* find(std::uint32_t window) noexcept {
    return window < place_.size() && place_[window] != kNone ? &all_[place_[window]] : nullptr;
  }
  /// As a hot one, if the window is not there yet. Allocates nothing.
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

  std::vector<Polled> all_;           // room for all windows from the start: references stay
  std::vector<std::uint32_t> place_;  // by window
  std::uint32_t hot_ = 0;
};

}  // namespace stria::shm
