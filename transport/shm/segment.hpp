// The bytes that processes share: one memfd for each device, made by its owner and mapped by its peers.
//
//   header | key table | peer slots | window controls | cell states | inbox | windows | layouts | cells
//
// Nothing in it is a pointer. Where the parts lie follows from the counts in the header (plan()), so a peer
// checks the counts and the size, and no offset of a peer is ever believed. Zero bytes are the initial state
// of everything behind the header, so pages nobody uses are never touched. Who writes a line is said beside
// it.
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
#include "transport/shm/hints.hpp"

namespace stria::shm {

inline constexpr std::uint64_t kMagic = 0x6d68736169727473;  // "striashm"
inline constexpr std::uint16_t kLayoutVersion =
    16;  // of these structures, of windows, cells and keys, and of addresses
inline constexpr std::uint32_t kLine = kCacheLine;
inline constexpr std::uint32_t kNone = 0xffffffff;

inline constexpr std::uint32_t kMaxCells = 1u << 16;  // of both sizes: records name them in 16 bits

/// The counts that decide where the parts of a segment lie.
struct Shape {
  std::uint32_t max_peers = 0;
  std::uint32_t windows = 0;
  std::uint32_t window_bytes = 0;
  std::uint32_t pio_mtu = 0;
  std::uint32_t inbox_slots = 0;
  std::uint32_t cells = 0;
  std::uint32_t cell_bytes = 0;
  std::uint32_t long_cells = 0;  // numbered behind the others
  std::uint32_t long_cell_bytes = 0;
  std::uint32_t keys = 0;
};

/// An eighth of the windows waits for low-latency links, which take from that end; any link takes one of
/// these.
constexpr std::uint32_t open_windows(const Shape& shape) noexcept {
  return shape.windows - shape.windows / 8;
}

/// The longest message of a window: a quarter of it; and the longest record: a line more, for the header,
/// as long ones take whole lines.
constexpr std::uint32_t most_pio_payload(std::uint32_t window_bytes) noexcept {
  return window_bytes / 4;
}
constexpr std::uint32_t most_pio_mtu(std::uint32_t window_bytes) noexcept {
  return most_pio_payload(window_bytes) + kLine;
}

/// Where the parts lie.
struct Plan {
  std::size_t keys = 0, peers = 0, controls = 0, states = 0, inbox = 0, windows = 0, layouts = 0, cells = 0,
              long_cells = 0;
  std::size_t cell_distance = 0, long_cell_distance = 0;
  std::size_t bytes = 0;
};
/// Empty (bytes == 0) when a count is outside what any device may ask for.
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

/// From cell to cell: its bytes, a line for the word that says how many of them are there (growing.hpp), and
/// others, an odd number of lines in all, so that the beginnings of cells, all that short fragments use,
/// are spread over a cache's sets.
constexpr std::size_t cell_distance(std::uint32_t cell_bytes) noexcept {
  return cell_bytes + kLine * (cell_bytes / kLine % 2 == 0 ? 33u : 34u);
}
/// How many of the cells of one size go round (cells.hpp) while few are under way, once their pages are
/// earned: as many as a huge page holds, and so about 1 MiB in their lower halves.
constexpr std::uint32_t round_of(std::uint32_t cells, std::uint32_t cell_bytes) noexcept {
  const std::size_t held = kHugePage / cell_distance(cell_bytes);
  return std::min(cells, std::max(static_cast<std::uint32_t>(held), 1u));
}

/// When cells become huge pages: never, after some use, the ordinary ones at the start and the long ones
/// after some use, all at the start.
enum class HugePages : std::uint8_t { off, used, ordinary, start };
inline constexpr std::uint32_t kHugeCells = 1, kHugeLongCells = 2;

enum class DeviceState : std::uint32_t { starting = 0, open = 1, closed = 2 };

struct SegmentHeader {
  // Written by the owner before anybody attaches.
  std::uint64_t magic;
  std::uint16_t layout_version;
  std::uint16_t wire_version;
  std::uint32_t library_version;
  std::uint64_t nonce;
  std::uint64_t worker_id;
  std::uint64_t fingerprint;  // of the job secret, see address.hpp
  std::uint32_t pid;          // in the owner's namespace
  std::uint32_t uid;
  std::uint64_t segment_bytes;
  std::uint32_t fences;  // 1: the owner's arm() cannot reach senders, so they fence
  std::uint32_t reserved;
  alignas(kLine) Shape shape;
  std::uint64_t probe_address;  // of a CmaProbe in the owner's private memory, and what it holds
  std::uint64_t probe_nonce;
  alignas(kLine) std::atomic<std::uint32_t> state;  // DeviceState; owner
  std::atomic<std::uint32_t> huge;  // kHugeCells | kHugeLongCells: their round is one huge page; owner
  std::atomic<std::uint32_t>
      armed;  // not 0: the owner sleeps (wakeup.hpp); it sets, whoever notified it clears
  alignas(kLine) std::atomic<std::uint64_t> inbox_head;  // next ticket; producers
  alignas(kLine) std::atomic<std::uint32_t> next_peer;   // where the next peer looks for a slot; peers
  Hints hints;                                           // peers whose window is cold
};
static_assert(sizeof(SegmentHeader) == 14 * kCacheLine && offsetof(SegmentHeader, magic) == 0);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(std::atomic<std::uint32_t>) == 4);

/// What a peer writes about itself. state = phase 2 | PID namespace 30 | pid 32, so that a slot whose claimer
/// died early can be told. In another namespace the pid means nothing; 0: the namespace is not known.
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
struct alignas(2 * kCacheLine) PeerSlot {
  std::atomic<std::uint64_t> state;  // the peer claims it by compare-and-swap; the owner frees or refuses it
  std::uint64_t nonce;
  std::uint64_t worker_id;
  std::uint32_t pid;
  std::int32_t fd;
  std::uint32_t uid;
  std::atomic<std::uint32_t> window;  // which of the owner's windows the peer took; kNone: it uses the inbox
  std::uint64_t segment_bytes;
  std::uint32_t door_space;  // the network namespace in which the peer has its door; 0: it has none
  alignas(kLine) std::atomic<std::uint32_t> far;  // 1: see distance.hpp; the owner writes, the peer reads
  std::atomic<std::uint32_t> attention;           // see hints.hpp; the same. kCold from the claim on
};
static_assert(sizeof(PeerSlot) == 2 * kCacheLine);

struct WindowControl {
  alignas(kLine) std::atomic<std::uint32_t> owner;     // peer slot + 1, 0: free; peers claim, the owner frees
  alignas(kLine) std::atomic<std::uint64_t> consumed;  // lines taken out so far; the owner writes
};
static_assert(sizeof(WindowControl) == 2 * kCacheLine);

/// A published layout: a descriptor (datatype/descriptor.hpp) that keys name by number and generation.
inline constexpr std::uint32_t kLayoutSlots = 512;
inline constexpr std::uint32_t kDescriptorBytes = 4096 - 2 * sizeof(std::uint32_t);
struct LayoutSlot {
  std::atomic<std::uint32_t> generation;  // owner; changed before the bytes do
  std::atomic<std::uint32_t> bytes;
  std::byte descriptor[kDescriptorBytes];
};
static_assert(sizeof(LayoutSlot) == 4096);

/// A segment in this process's memory.
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

/// Makes a sealed memfd of `bytes`, maps it, and takes the write lock that tells peers that its owner lives.
struct OwnedSegment {
  UniqueFd fd;
  Mapping map;
};
Result<OwnedSegment> create_segment(const char* name, std::size_t bytes);

/// Gives memory its pages in one call, which a fault each would take one by one; to_read: shows those that it
/// has in this mapping. Without an effect on kernels before 5.14, or when there is no memory.
enum class Pages : std::uint8_t { to_write, to_read };
void have_pages(std::span<std::byte> memory, Pages how) noexcept;
/// Makes the first 2 MiB of memory one huge page, whatever pages are there, in the time of a hundred ordinary
/// ones; peers that map it see it so at their next look. False: it does not begin where one may, none is
/// left, or the kernel cannot (before 6.1).
bool have_huge_page(std::span<std::byte> memory) noexcept;

/// A child of fork() must not see shared pages.
void keep_from_children(const Mapping& map) noexcept;

}  // namespace stria::shm
