// Measures how fast this process's stores are to lines that a peer has in its cache.
//
// A store first fetches its line from the peer's cache. Near cores have many such lines under way at once.
// Far cores pass on one line after the other, however fast the peer reads what was written (distance.hpp),
// so the stores are most of the time that a message takes. Stores past the caches fetch nothing. The string
// instruction fetches lines on some hosts and not on others, even of one make, so it is judged apart from
// all other stores. docs/notebook/rendezvous.md, "Store speed", has the figures.
//
// Some stores in a row are timed now and then, and the majority decides. While stores of a kind are slow,
// the sender uses another kind, so there is nothing to time; after a while the slow kind is tried again,
// because the system may have moved a process to another core.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/instructions.hpp"
#include "hw/pio.hpp"
#include "transport/shm/looks.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

/// How fast one kind of stores to one peer is, as their sender knows it. One thread.
class StoreSpeed {
 public:
  using Clock = std::chrono::steady_clock;
  /// The first stores are not timed, because they go to new memory. (Stores to cells are not timed before
  /// CellPool::are_settled().)
  static constexpr std::uint32_t kFirst = Looks::kEvery - Looks::kRow;
  static constexpr std::chrono::milliseconds kTryAfter{200};  // slow stores are tried again after this time

  /// A StoreSpeed that says slow, whatever is noted.
  static StoreSpeed always_slow() noexcept {
    StoreSpeed speed;
    speed.slow_ = true;
    speed.since_ = Clock::time_point::max();
    return speed;
  }
  /// Whether stores of this kind are slow, so that another kind is better. To be called before each use.
  bool is_slow() noexcept { return slow_ && (++count_ % Looks::kRow != 0 || !try_again(Clock::now())); }
  /// Takes slow stores to be fast again when kTryAfter has passed. True: they are taken to be fast from now
  /// on.
  bool try_again(Clock::time_point now) noexcept {
    if (now - since_ < kTryAfter) return false;
    *this = StoreSpeed();
    count_ = 0;
    return true;
  }
  /// Records that stores of `bytes` bytes took `ns` nanoseconds, until all of them were done.
  void note(float ns, std::uint32_t bytes, Clock::time_point now) noexcept {
    const auto lines = static_cast<float>(bytes) / kLine;
    if (ns > kAbsurdStart + kAbsurd * lines) return;  // the thread was interrupted, or waited for a page
    if (since_ == Clock::time_point::max()) return;   // always_slow()
    const std::optional<bool> slow = looks_.note(ns > kSlowStart + kSlow * lines);
    if (!slow) return;
    slow_ = *slow;
    since_ = now;
  }

  /// Whether the next stores of this kind are to be timed. To be called before each use.
  bool is_due() noexcept { return Looks::is_due(count_++); }
  /// Times the stores of the scope that it lives in, and notes the time.
  class Timed {
   public:
    /// `speed` null: nothing is timed.
    Timed(StoreSpeed* speed, std::uint32_t bytes) noexcept : speed_(speed), bytes_(bytes) {
      if (speed_ != nullptr) [[unlikely]]
        begin_ = begin();
    }
    ~Timed() {
      if (speed_ != nullptr) [[unlikely]]
        end(*speed_, begin_, bytes_);
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;

   private:
    /// Earlier stores have left the processor's queue.
    static void all_stored() noexcept {
      hw::full_fence();
      wait_for_stores();
    }
    [[gnu::cold, gnu::noinline]] static Clock::time_point begin() noexcept {
      all_stored();
      return Clock::now();
    }
    [[gnu::cold, gnu::noinline]] static void end(StoreSpeed& speed, Clock::time_point begin,
                                                 std::uint32_t bytes) noexcept {
      all_stored();
      const Clock::time_point now = Clock::now();
      speed.note(std::chrono::duration<float, std::nano>(now - begin).count(), bytes, now);
    }

    StoreSpeed* speed_;
    std::uint32_t bytes_;
    Clock::time_point begin_;
  };

 private:
  // Nanoseconds for the stores as a whole, and for each line: beyond these they are slow, or say nothing.
  static constexpr float kSlowStart = 140, kSlow = 11;
  static constexpr float kAbsurdStart = 2000, kAbsurd = 200;

  std::uint32_t count_ = Looks::kEvery - kFirst;  // calls of is_due() and, while slow, of is_slow()
  Looks looks_;
  bool slow_ = false;
  Clock::time_point since_{};  // when slow_ was decided; max: always_slow()
};

}  // namespace stria::shm
