// The sender's cells: memory in the sender's own segment that buffered messages are packed into. The
// receiver reads a cell in place, and then stores the number of the cell's use in its state word: that store
// frees the cell, and nothing else comes back. The sender never stores to a state word, because its line
// would first have to come back from the receiver's cache.
//
// The sender harvests freed cells: it reads the state words of the cells under way, oldest first, a few at a
// time and only every few messages. State words of neighbouring cells share a line, so one transfer tells of
// several cells. Freed cells are used again first in, first out. So a stream goes through more memory than a
// second-level cache holds: the receiver's cache has dropped a line when the sender writes it again, and the
// store need not wait until it is taken away there.
//
// Cells go round: take() hands them out, the receiver frees them, and take() hands them out again. What the
// pages of a cell cost (cell_pages.hpp) has to be earned, so at first one cell goes round; one more joins
// whenever all of them are under way. Payloads shorter than half a cell stay in its lower half. While cells
// are so few, the receiver's cache has all of their lines, and long payloads go by non-temporal stores.
//
// Where the kernel gives a huge page on demand, a whole round of cells (round_of() in segment.hpp) lies in
// one: of ordinary cells from the start, of long ones after kHugeRoundAfter bytes of payloads. Its pages
// cost nothing more, but each of its lines comes from memory once. So few cells go round at first here, too,
// as whole cells, and one more joins at intervals so long that no payload notices.
//
// Ordinary pages take more time. So the whole round joins only after kRoundAfter bytes (long cells:
// kLongRoundAfter), at first in lower halves. These fill no more than a second-level cache, which is not
// enough where the string instruction fetches lines (way_to_store() in gather.hpp). So after kWidensAfter
// payloads (kLongWidensAfter) whole cells go round. docs/notebook/shm.md has the figures.
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
/// A bit of a state word, beside the number of the use: the receiver has the message, and keeps its payload
/// in the cell until a receive comes for it.
inline constexpr std::uint32_t kKeptCell = 1u << 31;
inline constexpr std::uint32_t kKeepLeast = 4096;  // bytes: shorter payloads are copied
/// A payload may stay in its cell only while at most 1 / kKeptPart of all cells of its size are under way.
/// So all receivers together keep no more than that, and cells are left for other messages.
inline constexpr std::uint32_t kKeptPart = 4;
/// Bytes of payloads after which a whole round of cells in ordinary pages goes round.
inline constexpr std::uint64_t kRoundAfter = 4u << 20, kLongRoundAfter = 16u << 20;
/// Bytes of payloads after which a huge page is asked for, where it is not at the start.
inline constexpr std::uint64_t kHugeRoundAfter = 256u << 10;
/// Number of payloads after which whole cells go round instead of lower halves.
inline constexpr std::uint32_t kWidensAfter = 16384, kLongWidensAfter = 512;

/// Where a payload lies in the sender's cells. A record has it as one word, in place of the payload.
struct CellPlace {
  std::uint32_t cell;     // number of the cell, 16 bits
  std::uint32_t at;       // bytes from the beginning of the cell, whole lines
  std::uint32_t use;      // number of the cell's use, 1 to kCellUses
  bool may_stay = false;  // the receiver may keep the payload in the cell until a receive comes for it

  static constexpr CellPlace of(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word & 0xffff),
            static_cast<std::uint32_t>(word >> 16 & 0x3ffff) * kLine,
            static_cast<std::uint32_t>(word >> 34) & kCellUses, (word >> 62 & 1) != 0};
  }
  constexpr std::uint64_t word() const noexcept {
    return cell | (std::uint64_t{at / kLine} << 16) | (std::uint64_t{use} << 34) |
           (std::uint64_t{may_stay ? 1u : 0u} << 62);
  }
};

/// A queue of cell numbers, first in, first out, with room for every cell of a pool.
class CellQueue {
 public:
  explicit CellQueue(std::size_t cells = 0)
      : ring_(std::bit_ceil(cells)), mask_(static_cast<std::uint32_t>(ring_.size()) - 1) {}

  std::uint32_t size() const noexcept { return end_ - begin_; }
  void push(std::uint32_t cell) noexcept { ring_[end_++ & mask_] = cell; }
  /// Removes the oldest number; the queue must not be empty.
  std::uint32_t pop() noexcept { return ring_[begin_++ & mask_]; }
  /// Undoes the last push().
  void drop_newest() noexcept { --end_; }

 private:
  std::vector<std::uint32_t> ring_;
  std::uint32_t mask_;
  std::uint32_t begin_ = 0, end_ = 0;  // pops and pushes so far; index in ring_: modulo its length
};

/// The cells of one size: ordinary or long. Private memory of the sender, one thread. `owner` is the number
/// of the link that a cell is under way to. The pool has many members because take() decides by counts and
/// by thresholds (fixed when the pool is made) that lie side by side; in objects of their own they would
/// need further addresses, and all of them change for one reason: a payload is sent.
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

  /// Takes a cell for a payload of `bytes` bytes to `owner`, which has *out cells under way. False: none is
  /// left, or the owner has as many under way as are left. So a peer that stands still takes a half of all
  /// cells, the next one a quarter, and so on, and the others go on. A short payload takes another place in
  /// its cell each time, so that a stream goes through more memory than a cache holds.
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
      // The word may still be of the earlier use with this number.
      segment_.cell_growth(first_cell_ + cell).store(0, std::memory_order_relaxed);
    }
    place = {first_cell_ + cell, place_for(at, bytes), at.use,
             bytes >= kKeepLeast && busy_.size() <= kept_most_};
    if (bytes > kFewPages) pages_.used(segment_, place.cell, place.at + bytes, Pages::to_write);
    return true;
  }
  /// Undoes the last take(): gives back cell `cell`, which no record names.
  void cancel(std::uint32_t cell) noexcept {
    busy_.drop_newest();
    give_back(cell - first_cell_);
  }
  /// Takes back cells that receivers have freed. Looks at the kHarvestDepth oldest, not counting kept
  /// ones. A cell that is still in use goes to the end of the queue, so that later harvests reach the others.
  void harvest() noexcept {
    payloads_ += since_harvest_;
    since_harvest_ = 0;
    if (volume_ >= round_after_ || payloads_ >= whole_after_) [[unlikely]]
      widen();
    std::uint32_t looks = kHarvestDepth;
    for (std::uint32_t left = busy_.size(); left > 0 && looks > 0; --left) {
      const std::uint32_t cell = busy_.pop();
      // Acquire: a receiver that stored the use has read the cell; pairs with Incoming::delivered().
      const std::uint32_t state = segment_.cell_state(first_cell_ + cell).load(std::memory_order_acquire);
      if (state == uses_[cell].use) {
        give_back(cell);
        --looks;
      } else {
        busy_.push(cell);
        if ((state & kKeptCell) == 0) --looks;  // kept cells may be neighbours, and stay for long
      }
    }
  }
  /// Frees all cells under way to the owner, whose peer is gone.
  void reclaim(std::uint32_t owner) noexcept {
    for (std::uint32_t left = busy_.size(); left > 0; --left) {
      const std::uint32_t cell = busy_.pop();
      if (uses_[cell].owner == owner)
        give_back(cell);
      else
        busy_.push(cell);
    }
  }
  /// Whether a message in a cell of the owner is not delivered yet. Looks at all cells under way.
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
  /// Whether so few cells go round, in ordinary pages, that the receivers' caches may have all their lines.
  bool are_few() const noexcept { return !is_huge_ && later_ > beyond_; }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr std::uint32_t kHarvestEvery = 16, kLongHarvestEvery = 4;
  static constexpr std::uint32_t kFirstOfHuge = 4, kMoreEvery = 64, kLongMoreEvery = 16;
  static constexpr std::uint32_t kHarvestDepth = 16;
  static constexpr std::uint32_t kFixedPlaceMost = 2047;  // bytes: payloads so short lie at place 0
  struct Use {
    std::uint32_t* out = nullptr;  // the owner's count of cells under way
    std::uint32_t owner = kNone;
    std::uint32_t use = 0;         // number of the use
    std::uint32_t next_place = 0;  // bytes, whole lines: where the next payload is to lie
  };

  /// Asks for a huge page, once. If there is one, whole cells go round, up to a whole round of them; else
  /// the cells have to earn ordinary pages.
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
  }
  std::uint32_t left() const noexcept { return free_.size() + later_; }
  /// Makes sure that a cell is free: harvests, and lets one more go round if that freed none. False: the
  /// owner, with *out cells under way, has its share.
  [[gnu::noinline]] bool find_more(const std::uint32_t* out) noexcept {
    harvest();
    if (*out >= left()) return false;
    if (free_.size() == 0) one_more();
    return true;
  }
  /// One more cell goes round from now on.
  void one_more() noexcept { free_.push(static_cast<std::uint32_t>(uses_.size()) - later_--); }
  /// The place for a payload in its cell: behind the last one, or at the beginning if it would pass reach_.
  std::uint32_t place_for(Use& at, std::uint32_t bytes) const noexcept {
    if (bytes <= kFixedPlaceMost) return 0;
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
  CellQueue free_, busy_;                     // cells that go round: free, and under way
  std::uint32_t later_ = 0;                   // cells that do not go round yet: the last ones of the pool
  std::uint32_t first_cell_ = 0, bytes_ = 0;  // number of the pool's first cell; bytes of a cell
  std::uint32_t beyond_ = 0;                  // cells of the pool that a whole round does not have
  std::uint32_t harvest_every_ = 0;           // calls of take()
  std::uint32_t kept_most_ = 0;               // a payload may stay while at most so many cells are under way
  std::uint32_t reach_ = 0;                   // shorter payloads end before this byte of a cell
  std::uint64_t payloads_ = 0, volume_ = 0;   // calls of take() up to the last harvest; bytes of payloads
  std::uint64_t small_round_after_ = kNever;  // round_after_ where the cells have ordinary pages
  std::uint32_t since_harvest_ = 0;           // calls of take()
  std::uint64_t round_after_ = kNever;  // volume_ that earns a huge page or a whole round; kNever: it came
  std::uint64_t whole_after_ = kNever;  // payloads_ that earn whole cells, or one more of a huge page
  std::uint32_t more_every_ = 0;        // payloads after which one more cell of a huge page goes round
  bool is_huge_ = false;
  CellPages pages_;
};

/// How many cells of each size a link has under way; index: Cells::size_for().
using CellsOut = std::array<std::uint32_t, 2>;

/// All cells of a device: ordinary cells, and a few long ones for payloads that an ordinary cell cannot hold.
class Cells {
 public:
  Cells() = default;
  Cells(const SegmentView& segment, HugePages huge)
      : ordinary_bytes_(segment.shape().cell_bytes),
        pools_{CellPool(segment, false, huge), CellPool(segment, true, huge)},
        first_long_(segment.shape().cells) {}

  /// Takes a cell of the size that fits `bytes`; see CellPool::take().
  [[gnu::always_inline]] bool take(std::uint32_t owner, CellsOut& out, std::uint32_t bytes,
                                   CellPlace& place) noexcept {
    const std::size_t size = size_for(bytes);
    return pools_[size].take(owner, &out[size], bytes, place);
  }
  /// The size of cell for a payload of `bytes`: 0 ordinary, 1 long; an index of CellsOut.
  std::size_t size_for(std::uint32_t bytes) const noexcept { return bytes > ordinary_bytes_ ? 1 : 0; }
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
