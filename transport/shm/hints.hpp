// Which windows to look at: a receiver polls the windows that were used lately, and of the others only those
// whose sender left a hint.
//
//   hot    the receiver polls the window; attention = 0, and its sender leaves nothing
//   cold   attention = 1: the sender, after each record, leaves a hint, and notifies it if the receiver
//   sleeps asked  attention = 2: cold, and wanted back for a busier sender (sharing.hpp)
//
// attention is in the sender's peer slot; so a sender loads one word after a record, whatever is the case. To
// make a window cold, "publish, then look at attention" has to be ordered against "set attention, then look
// at the window", which is the problem of wakeup.hpp once more, and solved as there: the receiver, who does
// it rarely, fences for both, and looks once more. A sleeping receiver sets attention of its hot windows too.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/cache_line.hpp"
#include "hw/pio.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kMaxWindows = 64 * 64;
inline constexpr std::uint32_t kHot = 0, kCold = 1, kAsked = 2;  // attention

/// In the receiver's segment. Zero bytes: no hint.
struct alignas(kCacheLine) Hints {
  std::atomic<std::uint64_t> words;        ///< bit i: windows[i] is not 0; senders set, the owner clears
  std::atomic<std::uint64_t> windows[64];  ///< bit j of word i: look at window 64 i + j

  /// The sender's, after its record. One whose bits are both still set need not set them again: the owner
  /// takes them later, and looks at the window after that. The bit of the window alone may be all that a
  /// sender left who died, or stands still, before it set the other.
  void leave(std::uint32_t window) noexcept {
    std::atomic<std::uint64_t>& word = windows[window / 64];
    const std::uint64_t bit = std::uint64_t{1} << (window % 64);
    hw::full_fence();  // the record before the look; pairs with the one in take()
    const std::uint64_t word_bit = std::uint64_t{1} << (window / 64);
    // Acquire: `words` is looked at after it. If it was taken since, the owner looks at the window after
    // that.
    if ((word.load(std::memory_order_acquire) & bit) == 0)
      word.fetch_or(bit, std::memory_order_seq_cst);
    else if ((words.load(std::memory_order_relaxed) & word_bit) != 0)
      return;
    words.fetch_or(word_bit, std::memory_order_seq_cst);
  }
  bool any() const noexcept { return words.load(std::memory_order_relaxed) != 0; }
  /// The owner's: calls f for each window with a hint, below `count`. A hint may be about nothing.
  template <class F>
  void take(std::uint32_t count, F&& f) noexcept {
    for (std::uint64_t some = words.exchange(0, std::memory_order_seq_cst); some != 0; some &= some - 1) {
      const auto i = static_cast<std::uint32_t>(__builtin_ctzll(some));
      std::uint64_t bits = windows[i].exchange(0, std::memory_order_seq_cst);
      hw::full_fence();
      for (; bits != 0; bits &= bits - 1) {
        const std::uint32_t window = 64 * i + static_cast<std::uint32_t>(__builtin_ctzll(bits));
        if (window < count) f(window);
      }
    }
  }
};

}  // namespace stria::shm
