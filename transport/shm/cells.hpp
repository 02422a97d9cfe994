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
// The cells that are handed out are a ring: take() takes the one that is free for longest. The ring is one
// cell at first, because pages take time (cell_pages.hpp) and memory, and a program may send few messages. It
// doubles when none of its cells is free, or when kDoublesAfter payloads for each of them went by, up to a
// round (round_of() in segment.hpp); beyond a round, one cell joins whenever none is free. The last doubling
// of a round in ordinary pages is from the lower halves of its cells to whole cells. While a ring in ordinary
// pages is shorter than a round, the receiver's cache has all of its lines, and long payloads go by
// non-temporal stores.
//
// Where the kernel gives a huge page on demand, a round lies in one: of ordinary cells from the start, of
// long ones after kLongHugeAfter payloads. Its pages take no more time, but each of its lines comes from
// memory once. So this ring begins small, too, with kFirstOfHuge whole cells. docs/notebook/shm.md has the
// figures.
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
/// Number of payloads, for each cell of the ring, after which the ring doubles: of ordinary and of long
/// cells.
inline constexpr std::uint32_t kDoublesAfter = 32, kLongDoublesAfter = 16;
/// Number of payloads in long cells after which these ask for a huge page.
inline constexpr std::uint32_t kLongHugeAfter = 4;

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
        doubles_after_(is_long ? kLongDoublesAfter : kDoublesAfter),
        may_be_huge_(huge != HugePages::off) {
    if (later_ == 0) return;
    add(1);
    if (huge == HugePages::start || (huge == HugePages::ordinary && !is_long)) ask_for_huge();
    wait_to_double();
    if (is_long && may_be_huge_) doubles_at_ = kLongHugeAfter;
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
    if (payloads_ >= doubles_at_) [[unlikely]]
      earn();
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
  /// Whether the ring has ordinary pages and is shorter than a round: the receivers' caches may have all of
  /// its lines.
  bool are_few() const noexcept { return !is_huge_ && later_ > beyond_; }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr std::uint32_t kHarvestEvery = 16, kLongHarvestEvery = 4;
  static constexpr std::uint32_t kFirstOfHuge = 4;  // cells of a ring in a huge page at first
  static constexpr std::uint32_t kHarvestDepth = 16;
  static constexpr std::uint32_t kFixedPlaceMost = 2047;  // bytes: payloads so short lie at place 0
  struct Use {
    std::uint32_t* out = nullptr;  // the owner's count of cells under way
    std::uint32_t owner = kNone;
    std::uint32_t use = 0;         // number of the use
    std::uint32_t next_place = 0;  // bytes, whole lines: where the next payload is to lie
  };

  /// Asks for a huge page, once. If there is one, the ring is kFirstOfHuge whole cells of it.
  void ask_for_huge() noexcept {
    may_be_huge_ = false;
    is_huge_ = pages_.become_huge(segment_, first_cell_, round());
    if (!is_huge_) return;
    reach_ = bytes_;
    if (ring() < kFirstOfHuge && later_ > beyond_) add(std::min(kFirstOfHuge - ring(), later_ - beyond_));
  }
  /// To be called when payloads have paid for new pages: asks for a huge page, or doubles the memory of the
  /// ring.
  [[gnu::cold, gnu::noinline]] void earn() noexcept {
    if (may_be_huge_)
      ask_for_huge();
    else if (later_ > beyond_)
      add(std::min(ring(), later_ - beyond_));
    else
      reach_ = bytes_;
    wait_to_double();
  }
  /// Adds cells because none is free: doubles the ring up to a round, and adds one cell beyond it.
  [[gnu::cold]] void grow_ring() noexcept {
    add(later_ > beyond_ ? std::min(ring(), later_ - beyond_) : 1);
    if (!may_be_huge_) wait_to_double();
  }
  void wait_to_double() noexcept {
    const bool is_whole = later_ <= beyond_ && reach_ == bytes_;
    doubles_at_ = is_whole ? kNever : payloads_ + std::uint64_t{doubles_after_} * ring();
  }
  std::uint32_t ring() const noexcept { return static_cast<std::uint32_t>(uses_.size()) - later_; }
  std::uint32_t round() const noexcept { return static_cast<std::uint32_t>(uses_.size()) - beyond_; }
  std::uint32_t left() const noexcept { return free_.size() + later_; }
  /// Makes sure that a cell is free: harvests, and adds to the ring if that freed none. False: the owner,
  /// with *out cells under way, has its share.
  [[gnu::noinline]] bool find_more(const std::uint32_t* out) noexcept {
    harvest();
    if (*out >= left()) {
      --payloads_;  // nothing was sent: the call is none of the payloads that the ring doubles after
      return false;
    }
    // A peer that stands still may have the oldest cells, behind which others have come back.
    for (std::uint32_t looks = busy_.size(); free_.size() == 0 && looks > kHarvestDepth;
         looks -= kHarvestDepth)
      harvest();
    if (free_.size() == 0) grow_ring();
    return true;
  }
  /// `cells` more cells join the ring.
  void add(std::uint32_t cells) noexcept {
    for (; cells > 0; --cells) free_.push(ring()), --later_;
  }
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
  CellQueue free_, busy_;                     // the ring: cells that are free, and under way
  std::uint32_t later_ = 0;                   // cells that are not in the ring yet: the last ones of the pool
  std::uint32_t first_cell_ = 0, bytes_ = 0;  // number of the pool's first cell; bytes of a cell
  std::uint32_t beyond_ = 0;                  // cells of the pool that a round does not have
  std::uint32_t harvest_every_ = 0;           // calls of take()
  std::uint32_t kept_most_ = 0;               // a payload may stay while at most so many cells are under way
  std::uint32_t reach_ = 0;                   // a payload behind another one ends at or before this byte
  std::uint32_t doubles_after_ = 0;           // kDoublesAfter or kLongDoublesAfter
  std::uint32_t since_harvest_ = 0;           // calls of take()
  std::uint64_t payloads_ = 0;                // payloads so far, up to the last harvest
  std::uint64_t doubles_at_ = kNever;  // payloads_ that double the ring; kNever: whole cells of a round
  bool may_be_huge_ = false;           // a huge page is still to be asked for
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
