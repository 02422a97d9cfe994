// The incoming part of a link: receives packets from the window that the peer took in this device's segment,
// and from cells in the peer's segment. A packet is delivered where it lies, or taken: copied to the receive
// that waits for it, without a delivery. The peer wrote the word that names a cell, so the word is checked.
#pragma once

#include <array>
#include <cstdint>

#include "transport/contract.hpp"
#include "transport/shm/cell_pages.hpp"
#include "transport/shm/cells.hpp"
#include "transport/shm/peer_segment.hpp"
#include "transport/shm/record.hpp"
#include "transport/shm/window.hpp"

namespace stria::shm {

struct Shared;

/// Answer of a delivery, beside the STRIA_DELIVERED_* bits of the sink: nothing was delivered, because the
/// record makes no sense.
inline constexpr std::uint32_t kSenseless = 1u << 31;
/// Answer of a delivery: nothing was delivered, because the sender stands still in the middle of the
/// payload. The record stays in the window, and is to be delivered again.
inline constexpr std::uint32_t kStays = 1u << 30;
static_assert(((kSenseless | kStays) &
               (STRIA_DELIVERED_GO_ON | STRIA_DELIVERED_KEPT | STRIA_DELIVERED_LATER)) == 0);

/// Threads: the device's thread only.
class Incoming {
 public:
  Incoming(Shared& shared, PeerSegment& peer) noexcept : shared_(shared), peer_(peer) {}

  // Calls of the provider contract (transport/contract.hpp).
  unsigned poll(unsigned budget) noexcept;
  std::int32_t take(transport::Header& wanted, void* memory, std::uint32_t capacity) noexcept;
  void release(std::uint64_t keep) noexcept;
  std::uint32_t kept_arrived(std::uint64_t keep, std::uint32_t all, std::uint32_t bytes) const noexcept;

  /// Delivers a packet whose payload of `bytes` lies in a cell of the peer; the word behind the header names
  /// the cell. Answers as the sink does, or kSenseless.
  std::uint32_t deliver_cell(const std::byte* header, std::uint32_t bytes, bool buffered) noexcept;
  /// Delivers a packet whose payload lies in a cell that the peer may still be writing (growing.hpp).
  /// Answers as the sink does, or kSenseless or kStays.
  std::uint32_t deliver_growing(std::uint64_t control, const std::byte* header) noexcept;
  /// Times the lines of a probe, a record of kProbeHalves, unless it has lain in the window for long; when
  /// the distance of the peer changes, tells the sink.
  [[gnu::cold, gnu::noinline]] void time_probe(const std::byte* record) noexcept;
  /// Tells the peer what this side has measured of the distance.
  void publish_verdict() const noexcept;
  /// Whether the next record of the window stays there, because its sender stands still in the middle of the
  /// payload.
  bool is_incomplete() const noexcept { return is_incomplete_; }
  /// To be called when the link is down. Payloads that the sink keeps in the peer's cells stay readable
  /// until they are released.
  void shut() noexcept;

  // For the device's parts that look after links.
  void* cookie = nullptr;           ///< by which the sink knows the link
  std::uint32_t slot = kNone;       ///< the peer's slot in this device's segment
  std::uint32_t window = kNone;     ///< the window that the peer took here, if it is in Windows
  std::uint32_t came_by_inbox = 0;  ///< records through the inbox since WindowSharing::look() was last called
  bool broken = false;              ///< the peer wrote a record that makes no sense
  bool is_over = false;             ///< the peer writes nothing any more

 private:
  std::uint32_t distance() const noexcept { return peer_.distance.is_far() ? 0 : STRIA_PACKET_NEAR; }
  bool is_in_cells(CellPlace place, std::uint32_t bytes) const noexcept;
  bool names_wanted(const WindowReceiver& from, std::uint64_t control, const transport::Header& wanted,
                    std::uint32_t capacity, CellPlace& place) noexcept;
  std::int32_t finish_take(WindowReceiver& from, CellPlace place, transport::Header& wanted,
                           std::uint32_t bytes) noexcept;
  std::int32_t take_cell(WindowReceiver& from, std::uint64_t control, transport::Header& wanted,
                         std::byte* memory, std::uint32_t capacity) noexcept;
  [[gnu::noinline]] std::int32_t take_growing(WindowReceiver& from, std::uint64_t control,
                                              transport::Header& wanted, std::byte* memory,
                                              std::uint32_t capacity) noexcept;
  void map_pages(CellPlace place, std::uint32_t bytes) noexcept;
  void delivered(CellPlace place, std::uint32_t answer) noexcept;

  bool is_incomplete_ = false;  // see is_incomplete()
  bool is_down_ = false;
  std::uint32_t kept_ = 0;  // payloads that the sink keeps in the peer's cells
  Shared& shared_;
  PeerSegment& peer_;
  std::array<CellPages, 2> cell_pages_;  // of the peer's cells (ordinary, long) in this process's mapping
};

}  // namespace stria::shm
