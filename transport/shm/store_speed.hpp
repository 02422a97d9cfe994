// How fast stores to lines are that a peer has read, learnt by their sender.
//
// A store fetches its line from the peer's cache first, with many under way at once: 2 to 9 ns a line where
// cores are near, and up to 25 where there are few lines, as the first one's way counts. Far ones pass on one
// line after the other, 14 to 45 ns each, however fast the peer reads what was written (distance.hpp): of the
// 4.0 us that 8 KiB took to a far peer, 3.4 were the sender's stores. Stores past the caches fetch nothing
// (1.45 us), and on some hosts nor does the string instruction (1.1), on others, of the same make, it does.
// So those by strings and all others are judged apart.
//
// Some stores in a row are timed now and then, and the majority decides. While stores are slow others are
// taken, and there is nothing to time; after a while they are tried again, as a machine may move a process.
#pragma once

#include <chrono>
#include <cstdint>

#include "hw/pio.hpp"
#include "transport/shm/looks.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

/// What a sender knows of one peer and one kind of stores; one thread.
class StoreSpeed {
 public:
  using Clock = std::chrono::steady_clock;
  /// Stores that say nothing: to new memory. Those to cells say nothing until these are settled (cells.hpp).
  static constexpr std::uint32_t kFirst = Looks::kEvery - Looks::kRow;
  static constexpr std::chrono::milliseconds kTryAfter{200};

  /// Stores that are slow whatever is learnt.
  static StoreSpeed always_slow() noexcept {
    StoreSpeed speed;
    speed.slow_ = true;
    speed.since_ = Clock::time_point::max();
    return speed;
  }
  /// Whether these stores had better not be taken; asked before each.
  bool is_slow() noexcept { return slow_ && (++count_ % Looks::kRow != 0 || !try_again(Clock::now())); }
  /// Slow ones are taken for fast after a while. True when they are now.
  bool try_again(Clock::time_point now) noexcept {
    if (now - since_ < kTryAfter) return false;
    *this = StoreSpeed();
    count_ = 0;
    return true;
  }
  /// Stores of so many bytes took so many ns, all of them done.
  void note(float ns, std::uint32_t bytes, Clock::time_point now) noexcept {
    const auto lines = static_cast<float>(bytes) / kLine;
    if (ns > kAbsurdStart + kAbsurd * lines) return;  // interrupted, or waited for a page
    if (since_ == Clock::time_point::max()) return;   // slow whatever is learnt
    const std::optional<bool> slow = looks_.note(ns > kSlowStart + kSlow * lines);
    if (!slow) return;
    slow_ = *slow;
    since_ = now;
  }

  /// Whether these stores are to be timed; asked before each.
  bool is_due() noexcept { return Looks::is_due(count_++); }
  /// Times the stores of its scope.
  class Timed {
   public:
    /// Null: it does nothing.
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
    [[gnu::cold, gnu::noinline]] static Clock::time_point begin() noexcept {
      hw::full_fence();
      return Clock::now();
    }
    [[gnu::cold, gnu::noinline]] static void end(StoreSpeed& speed, Clock::time_point begin,
                                                 std::uint32_t bytes) noexcept {
      hw::full_fence();  // they leave the processor's queue
      const Clock::time_point now = Clock::now();
      speed.note(std::chrono::duration<float, std::nano>(now - begin).count(), bytes, now);
    }

    StoreSpeed* speed_;
    std::uint32_t bytes_;
    Clock::time_point begin_;
  };

 private:
  static constexpr float kSlowStart = 140, kSlow = 11;  // ns: the first line's way, and each line
  static constexpr float kAbsurdStart = 2000, kAbsurd = 200;

  std::uint32_t count_ = Looks::kEvery - kFirst;
  Looks looks_;
  bool slow_ = false;
  Clock::time_point since_{};
};

}  // namespace stria::shm
