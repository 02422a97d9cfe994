// The incoming half of a link: what the peer writes into the window that it took here, and into cells of its
// own. Packets are delivered where they lie, or taken by the receive that waits for them. A peer writes what
// names a cell, so it is checked.
#pragma once

#include <array>
#include <cstdint>

#include "transport/contract.hpp"
#include "transport/shm/cell_pages.hpp"
#include "transport/shm/cells.hpp"
#include "transport/shm/distance.hpp"
#include "transport/shm/peer_segment.hpp"
#include "transport/shm/record.hpp"
#include "transport/shm/window.hpp"

namespace stria::shm {

class Growing;
struct Shared;

/// What a delivery answers, beside the STRIA_DELIVERED_* bits of the sink: nothing was delivered, because the
/// record contradicts itself.
inline constexpr std::uint32_t kSenseless = 1u << 31;
/// Likewise: the record stays where it is, and comes again, as its sender stands still in the middle of it.
inline constexpr std::uint32_t kStays = 1u << 30;
static_assert(((kSenseless | kStays) &
               (STRIA_DELIVERED_GO_ON | STRIA_DELIVERED_KEPT | STRIA_DELIVERED_LATER)) == 0);

/// The device's thread.
class Incoming {
 public:
  Incoming(Shared& shared, PeerSegment& peer) noexcept : shared_(shared), peer_(peer) {}

  // The contract.
  unsigned poll(unsigned budget) noexcept;
  std::int32_t take(transport::Header& wanted, void* memory, std::uint32_t capacity) noexcept;
  void release(std::uint64_t keep) noexcept;
  std::uint32_t kept_arrived(std::uint64_t keep, std::uint32_t all, std::uint32_t bytes) const noexcept;
  /// The peer's caches are taken to be far.
  bool is_far() const noexcept;

  /// A packet whose payload is in the peer's cell that the word behind the header names.
  std::uint32_t deliver_cell(const std::byte* header, std::uint32_t bytes, bool buffered) noexcept;
  /// A packet in a cell that the peer may still be writing.
  std::uint32_t deliver_growing(RecordKind kind, const std::byte* header, std::uint32_t bytes) noexcept;
  /// The next record is one that stays.
  bool is_half() const noexcept { return is_half_; }
  /// The link is down. What the sink keeps in the peer's cells stays readable until it is released.
  void shut() noexcept;

  // For the device's parts that look after links.
  void* cookie = nullptr;
  std::uint32_t slot = kNone;       ///< the peer's, in this device's table
  std::uint32_t window = kNone;     ///< that the peer took here, which is polled
  std::uint32_t came_by_inbox = 0;  ///< records since the last look (sharing.hpp)
  bool broken = false;              ///< the peer wrote a record that makes no sense
  bool is_over = false;             ///< the peer writes nothing any more

 private:
  void look(const std::byte* payload, std::uint32_t bytes) noexcept;
  void look_growing(const Growing& growing) noexcept;
  std::uint32_t distance() const noexcept { return is_far() ? 0 : STRIA_PACKET_NEAR; }
  bool is_in_cells(CellPlace place, std::uint32_t bytes) const noexcept;
  bool names_wanted(const WindowReceiver& from, std::uint64_t control, const transport::Header& wanted,
                    std::uint32_t capacity, CellPlace& place) noexcept;
  std::int32_t took_cell(WindowReceiver& from, CellPlace place, transport::Header& wanted,
                         std::uint32_t bytes) noexcept;
  std::int32_t take_cell(WindowReceiver& from, std::uint64_t control, transport::Header& wanted,
                         std::byte* memory, std::uint32_t capacity) noexcept;
  [[gnu::noinline]] std::int32_t take_growing(WindowReceiver& from, std::uint64_t control,
                                              transport::Header& wanted, std::byte* memory,
                                              std::uint32_t capacity) noexcept;
  void count_cell(CellPlace place, std::uint32_t bytes) noexcept;
  void delivered(CellPlace place, std::uint32_t answer) noexcept;

  bool is_half_ = false;  // the next record's payload did not go on coming (growing.hpp)
  bool is_down_ = false;
  std::uint32_t kept_ = 0;  // payloads that lie in the peer's cells on
  Shared& shared_;
  PeerSegment& peer_;
  Distance distance_;                    // of its cells
  std::array<CellPages, 2> cell_pages_;  // of each size: the peer's, in this process's mapping
};

}  // namespace stria::shm
