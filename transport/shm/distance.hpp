// Measures whether a peer's caches are near or far. The receiver of cells learns it, and tells the sender of
// the cells.
//
// Near cores share a cache: lines that one core wrote come to the other in a few nanoseconds, many at a
// time. Between far cores lines are passed on one after the other, whatever the cores do, and stores that do
// not fetch the line first (gather.hpp) are up to ten times as fast; near cores lose by such stores
// (docs/notebook/rendezvous.md). A virtual machine may move its processors to other cores, so the distance
// may change while a job runs.
//
// While a peer is taken to be near, the receiver now and then times the loads of lines from the middle of a
// cell, in several cells in a row, and the majority decides: a single cell may have lines that come from
// memory, because other cores use the shared cache, too. (The first lines of a cell say less: the processor
// fetches them ahead while it copies the cell before.)
//
// While the peer is far there is nothing to time: lines that were written past the caches say nothing about
// the caches, and gets bring no cells at all. So after a while the peer is taken to be near again, until
// some cells have shown whether it is. For a far peer this costs about a millisecond, so the while doubles
// each time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/instructions.hpp"
#include "hw/pio.hpp"
#include "transport/shm/looks.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kLookBytes = 1024;

/// The distance of one peer, as its receiver knows it. One thread.
class Distance {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kFirst = 256;  // the first cells say nothing: their memory is new
  // A far peer is taken to be near again after kTryAfter; the time doubles up to kTryAtLast.
  static constexpr std::chrono::milliseconds kTryAfter{100}, kTryAtLast{1600};

  /// Counts a cell with a payload of `bytes`, at least kLookBytes, and times its lines when that is due. If
  /// the distance changes now, up to `under_way` more cells may already be written the old way. True when
  /// is_far() changed.
  bool came(const std::byte* cell, std::uint32_t bytes, std::uint32_t under_way) noexcept {
    if (far_) return ++cells_ % Looks::kRow == 0 && try_again(Clock::now(), under_way);
    if (skip_ > 0) {
      --skip_;
      return false;
    }
    return Looks::is_due(cells_++) && look(cell + look_at(bytes));
  }
  /// Counts a cell whose lines need not be timed. False: it is not counted, and came() is to be called for
  /// it.
  bool passes() noexcept {
    if (far_ || skip_ != 0 || Looks::is_due(cells_)) return false;
    ++cells_;
    return true;
  }
  /// Whether came() times lines of the next cell.
  bool looks() const noexcept { return !far_ && skip_ == 0 && Looks::is_due(cells_); }
  /// Takes a peer that has been far for long enough to be near. The first call starts the time. True: the
  /// peer is near from now on, and the next `under_way` cells are not timed.
  bool try_again(Clock::time_point now, std::uint32_t under_way) noexcept {
    if (since_ == Clock::time_point{}) since_ = now;
    if (now - since_ < wait_) return false;
    wait_ = std::min(2 * wait_, kTryAtLast);
    far_ = false;
    cells_ = 0;
    looks_ = {};
    skip_ = under_way;
    return true;
  }
  /// Records that the lines of a cell took `ns` nanoseconds each. True when is_far() changed.
  bool note(float ns) noexcept {
    if (ns > kAbsurd) return false;  // the thread was interrupted, or waited for a page
    const std::optional<bool> slow = looks_.note(ns > kFar);
    if (!slow) return false;
    far_ = *slow;
    cells_ = far_ ? 0 : cells_;
    since_ = {};
    if (!far_) wait_ = kTryAfter;
    return far_;
  }
  bool is_far() const noexcept { return far_; }
  /// Where in a payload of `bytes` bytes, at least kLookBytes, the timed lines begin. They lie on one page.
  static constexpr std::uint32_t look_at(std::uint32_t bytes) noexcept {
    return bytes / 2 / kLookBytes * kLookBytes;
  }

 private:
  /// Not inlined, so that the many cells that are not timed need few registers.
  [[gnu::cold, gnu::noinline]] bool look(const std::byte* lines) noexcept { return note(time(lines)); }
  static constexpr float kFar = 12, kAbsurd = 200;  // ns a line; near up to 10, far mostly 12 to 60

  /// Times the loads of kLookBytes bytes of lines; returns nanoseconds a line.
  static float time(const std::byte* lines) noexcept {
    constexpr std::uint32_t kLast = kLookBytes - kLine, kTimed = kLast / kLine - 1;
    std::uint64_t sum =
        hw::load_word_unordered(lines) + hw::load_word_unordered(lines + kLast);  // waits for new pages
    wait_for_loads(sum);
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint32_t at = kLine; at < kLast; at += kLine) sum += hw::load_word_unordered(lines + at);
    wait_for_loads(sum);  // all of them came
    const std::chrono::duration<float, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / static_cast<float>(kTimed);
  }

  std::uint32_t cells_ = 0;      // cells counted since the last change
  std::uint32_t skip_ = kFirst;  // cells still to come that say nothing: new memory, or past the caches
  Looks looks_;
  std::chrono::milliseconds wait_ = kTryAfter;
  Clock::time_point since_{};  // the first try_again() since the peer became far; zero: none yet
  bool far_ = false;
};

}  // namespace stria::shm
