// The sender's cells: where buffered messages are packed, in its own segment. The receiver reads a cell in
// place and stores in its state word which use of the cell it was; that store is all that comes back, and the
// sender stores nothing there: its line would have to come back first.
//
// The sender learns of freed cells by looking at the states of those it sent, oldest first, a few at a time
// and only every few messages: states of neighbouring cells share a line, so one transfer tells of several.
// Freed cells are used again first in, first out. A stream of fragments so goes round through more memory
// than a second-level cache holds: what the receiver read has left its cache when it is written again, and a
// store need not wait until the line is taken away there. (1 MiB between two near cores: 42 us; last in,
// first out: 118 us. A window of 64 messages of 4 KiB, each message: 0.16 us, always at the begin of a cell
// 0.2.)
//
// What a cell's pages cost (cell_pages.hpp) has to be earned: at first one cell goes round, one more whenever
// all of them are under way, and what is shorter than half a cell goes round in its lower half. The
// receiver's cache has all lines of these few, so long payloads are stored past the caches.
//
// Where the kernel gives a huge page on demand, the ordinary cells have it from the start on, the long ones
// after kHugeRoundAfter bytes. Its pages cost nothing more, but its lines come from memory once. So there,
// too, few cells go round at first, whole; and one more for so many payloads that none of these notices (4
// KiB 0.25 us at first instead of 0.43, 8 KiB 0.37 instead of 0.65).
//
// Ordinary pages are dearer, and take as long as they save. After kRoundAfter bytes (kLongRoundAfter in the
// long cells) so many go round that their lower halves are 1 MiB. That is as much as a second-level cache
// holds, and where the string instruction fetches lines (store_speed.hpp) a stream of 8 KiB runs at 14 GB/s
// so, and at 24 through 2 MiB. So after kWidensAfter (kLongWidensAfter) they go round in whole cells.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "transport/shm/cell_pages.hpp"
#include "transport/shm/segment.hpp"

namespace stria::shm {

inline constexpr std::uint32_t kCellUses = (1u << 28) - 1;
/// In a cell's state, beside the use: the receiver has the message, and keeps its payload there until a
/// receive comes for it.
inline constexpr std::uint32_t kKeptCell = 1u << 31;
inline constexpr std::uint32_t kKeepLeast = 4096;  // bytes: shorter payloads are copied
/// A payload may stay while no more of all cells of its size are under way: all receivers together keep no
/// more, and the cells of those who wait do not run out.
inline constexpr std::uint32_t kKeptPart = 4;
/// Bytes of payloads. 4 KiB take 0.7 us through one cell and 0.5 through all of a round, 8 KiB 1.4 and 0.7,
/// 32 KiB 3.7 and 1.7, 64 KiB 6.5 and 3.3; the pages of a round take 0.8 ms of each side.
inline constexpr std::uint64_t kRoundAfter = 4u << 20, kLongRoundAfter = 16u << 20;
/// Of payloads, and then a huge page is asked for.
inline constexpr std::uint64_t kHugeRoundAfter = 256u << 10;
/// Payloads. They take 8 ms and 2 ms and more, the pages of the upper halves 1 ms.
inline constexpr std::uint32_t kWidensAfter = 16384, kLongWidensAfter = 512;

/// Where in the sender's cells a payload is, and which use of the cell it is, as the word that a record has
/// where others have their payload.
struct CellPlace {
  std::uint32_t cell;     // of at most 65536
  std::uint32_t at;       // bytes from the cell's begin, whole lines
  std::uint32_t use;      // 1 to kCellUses
  bool few = false;       // stored past the caches, as few cells go round: its lines tell no distance
  bool may_stay = false;  // until a receive comes for it

  static constexpr CellPlace of(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word & 0xffff),
            static_cast<std::uint32_t>(word >> 16 & 0x3ffff) * kLine,
            static_cast<std::uint32_t>(word >> 34) & kCellUses, word >> 63 != 0, (word >> 62 & 1) != 0};
  }
  constexpr std::uint64_t word() const noexcept {
    return cell | (std::uint64_t{at / kLine} << 16) | (std::uint64_t{use} << 34) |
           (std::uint64_t{few ? 1u : 0u} << 63) | (std::uint64_t{may_stay ? 1u : 0u} << 62);
  }
};

/// Numbers of cells, first in, first out; as many as there are cells fit.
class CellQueue {
 public:
  explicit CellQueue(std::size_t cells = 0)
      : ring_(std::bit_ceil(cells)), mask_(static_cast<std::uint32_t>(ring_.size()) - 1) {}

  std::uint32_t size() const noexcept { return end_ - begin_; }
  void push(std::uint32_t cell) noexcept { ring_[end_++ & mask_] = cell; }
  /// There is one.
  std::uint32_t pop() noexcept { return ring_[begin_++ & mask_]; }
  /// Undoes the last push().
  void drop_newest() noexcept { --end_; }

 private:
  std::vector<std::uint32_t> ring_;
  std::uint32_t mask_;
  std::uint32_t begin_ = 0, end_ = 0;  // they count on, whatever the ring's length
};

/// Cells of one size, numbered from `first` on. Private memory of the sender, one thread. `owner` is a number
/// that stands for a link. It has many members because take() decides by the counts, and by the thresholds
/// that were fixed when the pool was made, that lie side by side: as objects of their own they would be found
/// by further addresses, and all of them change for one reason, a payload that was sent.
class CellPool {
 public:
  CellPool() = default;
  CellPool(const SegmentView& segment, bool is_long, HugePages huge)
      : segment_(segment),
        uses_(is_long ? segment.shape().long_cells : segment.shape().cells),
        free_(uses_.size()),
        busy_(uses_.size()),
        later_(static_cast<std::uint32_t>(uses_.size())),
        first_cell_(is_long ? segment.shape().cells : 0),
        bytes_(is_long ? segment.shape().long_cell_bytes : segment.shape().cell_bytes),
        beyond_(later_ - round_of(later_, bytes_)),
        harvest_every_(is_long ? kLongHarvestEvery : kHarvestEvery),
        kept_most_(later_ / kKeptPart),
        reach_(bytes_ / 2),
        small_round_after_(is_long ? kLongRoundAfter : kRoundAfter),
        round_after_(huge == HugePages::off ? small_round_after_ : kHugeRoundAfter),
        whole_after_(is_long ? kLongWidensAfter : kWidensAfter),
        more_every_(is_long ? kLongMoreEvery : kMoreEvery) {
    if (later_ > 0) one_more();
    const bool at_once = huge == HugePages::start || (huge == HugePages::ordinary && !is_long);
    if (later_ > 0 && at_once) ask_for_huge();
  }

  /// A cell for `bytes` of `owner`, of which *out are under way. False: the owner has as many as are left, so
  /// that peers who stand still take a half of all, then a quarter, and so on, and do not stop the others; or
  /// none is left. Payloads shorter than half a cell go round in that half, and so a stream of them through
  /// more memory than a cache holds.
  [[gnu::always_inline]] bool take(std::uint32_t owner, std::uint32_t* out, std::uint32_t bytes,
                                   CellPlace& place) noexcept {
    const bool is_due = ++since_harvest_ >= harvest_every_ || free_.size() == 0 || *out >= left();
    if (is_due && !find_more(out)) [[unlikely]]
      return false;
    const std::uint32_t cell = free_.pop();
    busy_.push(cell);
    ++*out;
    volume_ += bytes;
    Use& at = uses_[cell];
    at.owner = owner;
    at.out = out;
    if (at.use++ == kCellUses) [[unlikely]] {
      at.use = 1;
      segment_.cell_growth(first_cell_ + cell).store(0, std::memory_order_relaxed);  // it may be of that use
    }
    place = {first_cell_ + cell, place_for(at, bytes), at.use, false,
             bytes >= kKeepLeast && busy_.size() <= kept_most_};
    if (bytes > kFewPages) pages_.used(segment_, place.cell, place.at + bytes, Pages::to_write);
    return true;
  }
  /// Gives back the cell that was taken last: no record names it.
  void cancel(std::uint32_t cell) noexcept {
    busy_.drop_newest();
    give_back(cell - first_cell_);
  }
  /// Takes back the cells the receivers freed. Looks at the kHarvestDepth oldest; what is still in use goes
  /// to the end of the line, so that later looks reach the others.
  void harvest() noexcept {
    payloads_ += since_harvest_;
    since_harvest_ = 0;
    if (volume_ >= round_after_ || payloads_ >= whole_after_) [[unlikely]]
      widen();
    std::uint32_t looks = kHarvestDepth;
    for (std::uint32_t left = busy_.size(); left > 0 && looks > 0; --left) {
      const std::uint32_t cell = busy_.pop();
      // Acquire: the receiver has read the cell.
      const std::uint32_t state = segment_.cell_state(first_cell_ + cell).load(std::memory_order_acquire);
      if (state == uses_[cell].use) {
        give_back(cell);
        --looks;
      } else {
        busy_.push(cell);
        if ((state & kKeptCell) == 0) --looks;  // those that are kept may stand together, for long
      }
    }
  }
  /// The owner's peer is gone: all its cells are free.
  void reclaim(std::uint32_t owner) noexcept {
    for (std::uint32_t left = busy_.size(); left > 0; --left) {
      const std::uint32_t cell = busy_.pop();
      if (uses_[cell].owner == owner)
        give_back(cell);
      else
        busy_.push(cell);
    }
  }
  /// Whether a cell of the owner was not delivered yet. Looks at all that are under way.
  bool waits_for(std::uint32_t owner) noexcept {
    bool waits = false;
    for (std::uint32_t left = busy_.size(); left > 0; --left) {
      const std::uint32_t cell = busy_.pop();
      busy_.push(cell);
      const std::uint32_t state = segment_.cell_state(first_cell_ + cell).load(std::memory_order_acquire);
      waits = waits || (uses_[cell].owner == owner && (state & ~kKeptCell) != uses_[cell].use);
    }
    return waits;
  }
  std::uint32_t busy() const noexcept { return busy_.size(); }
  /// Whether the receivers' caches have, or may have, all lines that go round.
  bool are_few() const noexcept { return !is_huge_ && later_ > beyond_; }
  /// Whether a whole round was written some times, so that how long stores take tells of the receiver's
  /// cache.
  bool are_settled() const noexcept { return payloads_ >= settled_after_; }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr std::uint32_t kHarvestEvery = 16, kLongHarvestEvery = 4;
  static constexpr std::uint32_t kRoundsToSettle = 4;
  static constexpr std::uint32_t kFirstOfHuge = 4, kMoreEvery = 64, kLongMoreEvery = 16;
  static constexpr std::uint32_t kHarvestDepth = 16;
  static constexpr std::uint32_t kStays = 2047;  // bytes: payloads so short gain nothing by going round
  struct Use {
    std::uint32_t* out = nullptr;
    std::uint32_t owner = kNone;
    std::uint32_t use = 0;
    std::uint32_t next_place = 0;  // whole lines
  };

  /// Once. All cells that fit there may go round, and whole; or they have to earn small pages.
  [[gnu::cold, gnu::noinline]] void ask_for_huge() noexcept {
    const auto round = static_cast<std::uint32_t>(uses_.size()) - beyond_;
    is_huge_ = pages_.become_huge(segment_, first_cell_, round);
    round_after_ = is_huge_ ? kNever : small_round_after_;
    if (!is_huge_) return;
    reach_ = bytes_;
    whole_after_ = payloads_ + more_every_;
    for (std::uint32_t i = 1; i < kFirstOfHuge && later_ > beyond_; ++i) one_more();
  }
  [[gnu::cold, gnu::noinline]] void widen() noexcept {
    if (volume_ >= round_after_ && round_after_ == kHugeRoundAfter) ask_for_huge();
    if (volume_ >= round_after_) {
      while (later_ > beyond_) one_more();
      round_after_ = kNever;
    }
    if (payloads_ >= whole_after_) {
      reach_ = bytes_;
      if (is_huge_ && later_ > beyond_) one_more();
      whole_after_ = is_huge_ && later_ > beyond_ ? payloads_ + more_every_ : kNever;
    }
    if (later_ <= beyond_ && settled_after_ == kNever)
      settled_after_ = payloads_ + kRoundsToSettle * (uses_.size() - beyond_);
  }
  std::uint32_t left() const noexcept { return free_.size() + later_; }
  /// Of those that came back, or of those kept for later. False: the owner, of whom *out are under way, has
  /// its share.
  [[gnu::noinline]] bool find_more(const std::uint32_t* out) noexcept {
    harvest();
    if (*out >= left()) return false;
    if (free_.size() == 0) one_more();
    return true;
  }
  /// Goes round from now on.
  void one_more() noexcept { free_.push(static_cast<std::uint32_t>(uses_.size()) - later_--); }
  /// Behind the payload before, or at the begin again.
  std::uint32_t place_for(Use& at, std::uint32_t bytes) const noexcept {
    if (bytes <= kStays) return 0;
    const std::uint32_t place = at.next_place + bytes <= reach_ ? at.next_place : 0;
    at.next_place = static_cast<std::uint32_t>(align_up(place + bytes, kLine));
    return place;
  }
  void give_back(std::uint32_t cell) noexcept {
    --*uses_[cell].out;
    free_.push(cell);
  }

  SegmentView segment_{};
  std::vector<Use> uses_;
  CellQueue free_, busy_;    // of those that go round
  std::uint32_t later_ = 0;  // so many are kept for later, the last ones
  std::uint32_t first_cell_ = 0, bytes_ = 0;
  std::uint32_t beyond_ = 0;  // so many of them are beyond a whole round
  std::uint32_t harvest_every_ = 0;
  std::uint32_t kept_most_ = 0;              // payloads may stay while no more are under way
  std::uint32_t reach_ = 0;                  // payloads shorter than that go round before this byte of a cell
  std::uint64_t payloads_ = 0, volume_ = 0;  // these, and their bytes
  std::uint64_t small_round_after_ = kNever;
  std::uint32_t since_harvest_ = 0;
  std::uint64_t round_after_ = kNever;    // bytes; kNever: it came
  std::uint64_t whole_after_ = kNever;    // payloads, likewise; of a huge page: one more cell
  std::uint64_t settled_after_ = kNever;  // payloads; kNever: no round was whole
  std::uint32_t more_every_ = 0;          // payloads, and one more cell of the huge page goes round
  bool is_huge_ = false;
  CellPages pages_;
};

/// How many of each size a link has under way.
using CellsOut = std::array<std::uint32_t, 2>;

/// All of a device's cells: ordinary ones, and few long ones for what is longer.
class Cells {
 public:
  Cells() = default;
  Cells(const SegmentView& segment, HugePages huge)
      : ordinary_bytes_(segment.shape().cell_bytes),
        pools_{CellPool(segment, false, huge), CellPool(segment, true, huge)},
        first_long_(segment.shape().cells) {}

  /// As CellPool's.
  [[gnu::always_inline]] bool take(std::uint32_t owner, CellsOut& out, std::uint32_t bytes,
                                   CellPlace& place) noexcept {
    const std::size_t size = size_for(bytes);
    return pools_[size].take(owner, &out[size], bytes, place);
  }
  /// Which of the sizes: an index of CellsOut.
  std::size_t size_for(std::uint32_t bytes) const noexcept { return bytes > ordinary_bytes_ ? 1 : 0; }
  bool are_settled(std::uint32_t bytes) const noexcept { return pools_[size_for(bytes)].are_settled(); }
  bool are_few(std::uint32_t bytes) const noexcept { return pools_[size_for(bytes)].are_few(); }
  void cancel(std::uint32_t cell) noexcept { pools_[cell >= first_long_ ? 1 : 0].cancel(cell); }
  void harvest() noexcept {
    for (CellPool& pool : pools_) pool.harvest();
  }
  void reclaim(std::uint32_t owner) noexcept {
    for (CellPool& pool : pools_) pool.reclaim(owner);
  }
  bool waits_for(std::uint32_t owner, std::uint32_t bytes) noexcept {
    return pools_[size_for(bytes)].waits_for(owner);
  }
  bool waits_for(std::uint32_t owner) noexcept {
    return pools_[0].waits_for(owner) || pools_[1].waits_for(owner);
  }
  std::uint32_t busy() const noexcept { return pools_[0].busy() + pools_[1].busy(); }

 private:
  std::uint32_t ordinary_bytes_ = 0;
  std::array<CellPool, 2> pools_;
  std::uint32_t first_long_ = 0;
};

}  // namespace stria::shm
