// Hints: how a receiver finds the windows that have records. It polls the windows that were used lately,
// which are hot, and looks at another window only when the sender of that window has left a hint.
//
//   hot    attention = 0   the receiver polls the window; the sender leaves no hint
//   cold   attention = 1   after each record the sender leaves a hint, and notifies a receiver that sleeps
//   asked  attention = 2   as cold; the receiver also asks for the window, for a busier sender
//                          (window_sharing.hpp)
//
// The word `attention` is in the sender's peer slot, so a sender loads one word after each record in all
// three cases. To make a window cold, the sender's "publish, then load attention" has to be ordered against
// the receiver's "store attention, then look at the window". That takes a full fence on both sides. The
// receiver does this rarely, so it fences for both by membarrier (wakeup.hpp), and then looks at the window
// once more. Before it sleeps, the receiver sets `attention` of its hot windows, too.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/cache_line.hpp"
#include "hw/pio.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kMaxWindows = 64 * 64;
inline constexpr std::uint32_t kHot = 0, kCold = 1, kAsked = 2;  // values of `attention`

/// The hints of one receiver, a bit for each of its windows. Lies in its segment. Zero bytes: no hint.
struct alignas(kCacheLine) Hints {
  std::atomic<std::uint64_t> words;        ///< bit i: windows[i] is not 0; senders set, the receiver clears
  std::atomic<std::uint64_t> windows[64];  ///< bit j of word i: look at window 64 i + j

  /// Called by the sender of a window after it published a record: leaves a hint. If both bits are still
  /// set, it need not set them: the receiver will clear them, and look at the window after that. The bit in
  /// `windows` may be set alone, when a sender died, or stands still, before it set the bit in `words`.
  void leave(std::uint32_t window) noexcept {
    std::atomic<std::uint64_t>& word = windows[window / 64];
    const std::uint64_t bit = std::uint64_t{1} << (window % 64);
    hw::full_fence();  // the record is visible before the bits are loaded; pairs with the fence in take()
    const std::uint64_t word_bit = std::uint64_t{1} << (window / 64);
    // Acquire: `words` is loaded after `word`. If the receiver cleared `word` since, it looks at the window
    // after that.
    if ((word.load(std::memory_order_acquire) & bit) == 0)
      word.fetch_or(bit, std::memory_order_seq_cst);
    else if ((words.load(std::memory_order_relaxed) & word_bit) != 0)
      return;
    words.fetch_or(word_bit, std::memory_order_seq_cst);
  }
  bool any() const noexcept { return words.load(std::memory_order_relaxed) != 0; }
  /// Called by the receiver: clears all hints, and calls f(window) for each window below `count` that had
  /// one. A window with a hint may have no record.
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
