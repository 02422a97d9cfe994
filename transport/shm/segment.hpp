// The segment of a device: the memory that it shares with its peers. It is one memfd, made by its owner, the
// device, and mapped by the peers.
//
//   header | key table | peer slots | window controls | cell states | inbox | windows | layouts | cells
//
// Nothing in the segment is a pointer. Where its parts lie follows from the counts in the header (plan()): a
// peer checks these counts and the size, and never uses an offset that another process wrote. Zero bytes are
// the initial state of everything behind the header, so pages that are not used are never touched. A comment
// beside each field says which process writes it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/cache_line.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "hw/key_table.hpp"
#include "transport/shm/address.hpp"
#include "transport/shm/hints.hpp"

namespace stria::shm {

inline constexpr std::uint64_t kMagic = 0x6d68736169727473;  // "striashm"
/// Version of the structures here, of windows, cells and keys, and of addresses.
inline constexpr std::uint16_t kLayoutVersion = 19;
inline constexpr std::uint32_t kLine = kCacheLine;
inline constexpr std::uint32_t kNone = 0xffffffff;  // in place of the number of a slot, window or link

/// Most cells of a device, ordinary and long together: a record names a cell in 16 bits.
inline constexpr std::uint32_t kMaxCells = 1u << 16;

/// The counts that decide where the parts of a segment lie.
struct Shape {
  std::uint32_t max_peers = 0;
  std::uint32_t windows = 0;
  std::uint32_t window_bytes = 0;
  std::uint32_t pio_mtu = 0;
  std::uint32_t inbox_slots = 0;
  std::uint32_t cells = 0;
  std::uint32_t cell_bytes = 0;
  std::uint32_t long_cells = 0;  // their numbers follow those of the ordinary cells
  std::uint32_t long_cell_bytes = 0;
  std::uint32_t keys = 0;
};

/// How many of the windows any link may take: the first ones. The last eighth is for low-latency links,
/// which take windows from the end.
constexpr std::uint32_t open_windows(const Shape& shape) noexcept {
  return shape.windows - shape.windows / 8;
}

/// The longest payload, in bytes, that a window of this size may take.
constexpr std::uint32_t most_pio_payload(std::uint32_t window_bytes) noexcept {
  return window_bytes / 4;
}
/// The longest record of a window of this size, in bytes: its longest payload, and a line for the header.
constexpr std::uint32_t most_pio_mtu(std::uint32_t window_bytes) noexcept {
  return most_pio_payload(window_bytes) + kLine;
}

/// Where the parts of a segment lie: bytes from its beginning.
struct Plan {
  std::size_t keys = 0, peers = 0, controls = 0, states = 0, inbox = 0, windows = 0, layouts = 0, cells = 0,
              long_cells = 0;
  std::size_t cell_distance = 0, long_cell_distance = 0;  // from the beginning of a cell to the next
  std::size_t bytes = 0;                                  // of the whole segment
};
/// Lays out a segment. Plan::bytes is 0 when a count is outside what any device may ask for.
Plan plan(const Shape& shape) noexcept;
hw::KeyTableShape key_shape(const Shape& shape) noexcept;

constexpr bool is_long_cell(const Shape& shape, std::uint32_t cell) noexcept {
  return cell >= shape.cells;
}
constexpr std::uint32_t all_cells(const Shape& shape) noexcept {
  return shape.cells + shape.long_cells;
}
constexpr std::uint32_t bytes_of_cell(const Shape& shape, std::uint32_t cell) noexcept {
  return is_long_cell(shape, cell) ? shape.long_cell_bytes : shape.cell_bytes;
}
/// The longest payload that a cell takes.
constexpr std::uint32_t cell_most(const Shape& shape) noexcept {
  return shape.long_cells > 0 ? shape.long_cell_bytes : shape.cell_bytes;
}

/// Bytes from the beginning of a cell to that of the next: the cell, unused lines, and a line for the growth
/// word (growing.hpp). It is an odd number of lines, so that the beginnings of cells, which are all that
/// short fragments use, are spread over the sets of a cache.
constexpr std::size_t cell_distance(std::uint32_t cell_bytes) noexcept {
  return cell_bytes + kLine * (cell_bytes / kLine % 2 == 0 ? 33u : 34u);
}
/// A round: up to how many cells of one size the ring of cells doubles (cells.hpp) as payloads go by. As many
/// as a huge page holds; their lower halves are about 1 MiB.
constexpr std::uint32_t round_of(std::uint32_t cells, std::uint32_t cell_bytes) noexcept {
  const std::size_t held = kHugePage / cell_distance(cell_bytes);
  return std::min(cells, std::max(static_cast<std::uint32_t>(held), 1u));
}

/// When cells become huge pages (cells.hpp).
enum class HugePages : std::uint8_t {
  off,       ///< never
  used,      ///< after some use
  ordinary,  ///< ordinary cells at the start, long cells after some use
  start      ///< all at the start
};
inline constexpr std::uint32_t kHugeCells = 1, kHugeLongCells = 2;  // bits of SegmentHeader::huge

enum class DeviceState : std::uint32_t { starting = 0, open = 1, closed = 2 };

struct SegmentHeader {
  // Written by the owner before any peer attaches.
  std::uint64_t magic;
  std::uint16_t layout_version;
  std::uint16_t wire_version;
  std::uint32_t library_version;
  std::uint64_t nonce;
  std::uint64_t worker_id;
  std::uint64_t fingerprint;  // of the job secret, see address.hpp
  std::uint64_t segment_bytes;
  std::uint32_t fences;  // 1: the owner has no membarrier, so senders fence (wakeup.hpp)
  std::uint32_t reserved;
  alignas(kLine) Shape shape;
  std::uint64_t probe_address;                      // of a CmaProbe in the owner's private memory
  std::uint64_t probe_nonce;                        // CmaProbe::nonce
  alignas(kLine) std::atomic<std::uint32_t> state;  // DeviceState; owner writes
  std::atomic<std::uint32_t> huge;  // kHugeCells, kHugeLongCells: their round is a huge page; owner writes
  // Not 0: the owner sleeps (wakeup.hpp). The owner writes; a sender that notified the owner clears it, too.
  std::atomic<std::uint32_t> armed;
  // Of the core that the owner runs on (hw/last_cache.hpp); the owner writes, at each check().
  std::atomic<std::uint32_t> last_cache;
  alignas(kLine) std::atomic<std::uint64_t> inbox_head;  // the next ticket (inbox.hpp); peers write
  alignas(kLine) std::atomic<std::uint32_t> next_peer;   // where the next peer looks for a slot; peers write
  Hints hints;                                           // cold windows to look at; peers set, owner clears
};
static_assert(sizeof(SegmentHeader) == 14 * kCacheLine && offsetof(SegmentHeader, magic) == 0);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4);

/// The state word of a peer slot: phase 2 bits | PID namespace 30 | pid 32. It names the process of the peer
/// from the claim on, so that the owner finds a claimant that died early. The pid means nothing in another
/// PID namespace; PID namespace 0: not known.
enum class SlotPhase : std::uint32_t { free = 0, claiming = 1, ready = 2, refused = 3 };
constexpr std::uint64_t slot_state(SlotPhase phase, std::uint32_t pid, std::uint32_t pid_space) noexcept {
  return static_cast<std::uint64_t>(phase) | (std::uint64_t{pid_space} << 2) | (std::uint64_t{pid} << 32);
}
constexpr SlotPhase slot_phase(std::uint64_t state) noexcept {
  return static_cast<SlotPhase>(state & 3);
}
constexpr std::uint32_t slot_pid_space(std::uint64_t state) noexcept {
  return static_cast<std::uint32_t>(state) >> 2;
}
constexpr std::uint32_t slot_pid(std::uint64_t state) noexcept {
  return static_cast<std::uint32_t>(state >> 32);
}
/// A slot for one peer.
struct alignas(2 * kCacheLine) PeerSlot {
  std::atomic<std::uint64_t> state;   // the peer claims it by compare-and-swap; the owner frees or refuses it
  Identity identity;                  // the peer writes it before the slot is ready
  std::atomic<std::uint32_t> window;  // which of the owner's windows the peer took; kNone: it uses the inbox
  // Of the peer's window (hints.hpp). The peer writes kCold with its identity; then the owner writes.
  alignas(kLine) std::atomic<std::uint32_t> attention;
  // Whether the owner has measured the peer to be near or far (distance.hpp), as a Verdict. The peer writes
  // `none` with its identity; then the owner writes.
  std::atomic<std::uint32_t> distance;
};
static_assert(sizeof(PeerSlot) == 2 * kCacheLine);

struct WindowControl {
  alignas(kLine) std::atomic<std::uint32_t> owner;     // peer slot + 1, 0: free; peers claim, the owner frees
  alignas(kLine) std::atomic<std::uint64_t> consumed;  // halves of lines taken out so far; the owner writes
};
static_assert(sizeof(WindowControl) == 2 * kCacheLine);

inline constexpr std::uint32_t kLayoutSlots = 512;
inline constexpr std::uint32_t kDescriptorBytes = 4096 - 2 * sizeof(std::uint32_t);
/// A published layout: a descriptor (datatype/descriptor.hpp) that keys name by number and generation. The
/// owner writes.
struct LayoutSlot {
  std::atomic<std::uint32_t> generation;  // changes before the descriptor does
  std::atomic<std::uint32_t> bytes;       // of the descriptor
  std::byte descriptor[kDescriptorBytes];
};
static_assert(sizeof(LayoutSlot) == 4096);

/// A segment, own or a peer's, that is mapped in this process, and access to its parts.
class SegmentView {
 public:
  SegmentView() = default;
  SegmentView(std::byte* base, const Shape& shape) noexcept
      : base_(base), shape_(shape), plan_(plan(shape)) {}

  explicit operator bool() const noexcept { return base_ != nullptr; }
  const Shape& shape() const noexcept { return shape_; }
  SegmentHeader& header() const noexcept { return *reinterpret_cast<SegmentHeader*>(base_); }
  std::byte* end() const noexcept { return base_ + plan_.bytes; }
  std::byte* keys() const noexcept { return base_ + plan_.keys; }
  PeerSlot& peer(std::uint32_t i) const noexcept {
    return reinterpret_cast<PeerSlot*>(base_ + plan_.peers)[i];
  }
  WindowControl& control(std::uint32_t i) const noexcept {
    return reinterpret_cast<WindowControl*>(base_ + plan_.controls)[i];
  }
  std::atomic<std::uint32_t>& cell_state(std::uint32_t i) const noexcept {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(base_ + plan_.states)[i];
  }
  std::byte* inbox() const noexcept { return base_ + plan_.inbox; }
  std::byte* window(std::uint32_t i) const noexcept {
    return base_ + plan_.windows + std::size_t{i} * shape_.window_bytes;
  }
  LayoutSlot& layout(std::uint32_t i) const noexcept {
    return reinterpret_cast<LayoutSlot*>(base_ + plan_.layouts)[i];
  }
  std::byte* cell(std::uint32_t i) const noexcept {
    return is_long_cell(shape_, i) ? base_ + plan_.long_cells + (i - shape_.cells) * plan_.long_cell_distance
                                   : base_ + plan_.cells + i * plan_.cell_distance;
  }
  std::atomic<std::uint64_t>& cell_growth(std::uint32_t i) const noexcept {
    const std::size_t distance = is_long_cell(shape_, i) ? plan_.long_cell_distance : plan_.cell_distance;
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(cell(i) + distance - kLine);
  }

 private:
  std::byte* base_ = nullptr;
  Shape shape_{};
  Plan plan_{};
};

struct SegmentMemory {
  UniqueFd fd;
  Mapping map;
};
/// Makes a sealed memfd of `bytes`, maps it, and takes the write lock that tells peers that its owner lives.
Result<SegmentMemory> create_segment(const char* name, std::size_t bytes);

enum class Pages : std::uint8_t { to_write, to_read };
/// Populates the pages of `memory` in one call, instead of by one fault for each page. to_write: allocates
/// pages that do not exist; to_read: maps existing pages in this process. Has no effect on kernels before
/// 5.14, or when there is no memory.
void populate_pages(std::span<std::byte> memory, Pages how) noexcept;
/// Makes the first 2 MiB of `memory` one huge page, whatever pages it has. Peers that have it mapped see the
/// huge page at their next access. False: `memory` does not begin where a huge page may, no huge page is
/// left, or the kernel cannot do it (before 6.1).
bool make_huge_page(std::span<std::byte> memory) noexcept;

/// Excludes the mapping from children of fork(): a child must not see shared pages.
void exclude_from_fork(const Mapping& map) noexcept;

}  // namespace stria::shm
