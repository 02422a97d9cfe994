// A link: this device's way to one remote device. What a send touches lies in the first lines of the object;
// all of it is private memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "transport/contract.hpp"
#include "transport/shm/cells.hpp"
#include "transport/shm/distance.hpp"
#include "transport/shm/gather.hpp"
#include "transport/shm/inbox.hpp"
#include "transport/shm/peer_segment.hpp"
#include "transport/shm/remote_access.hpp"
#include "transport/shm/row.hpp"
#include "transport/shm/store_speed.hpp"
#include "transport/shm/window.hpp"

namespace stria::shm {

class Device;

/// One thread at a time, with its device.
class alignas(kCacheLine) Link {
 public:
  explicit Link(Shared& shared) noexcept : access_(shared, peer_) {}
  /// Record in the peer's window: header and payload stored by the CPU. unsupported: the link has no window.
  Status pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept;
  /// Packed into the window where it fits, else into a cell. no_resource: no line, no inbox slot, or no cell.
  Status eager_send(const transport::Header& header, const transport::Payload& payload) noexcept;
  Status send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                         const transport::Key& key) noexcept;
  /// Synchronous: ok or an error, never in_progress.
  Status get(const transport::Payload& local, const transport::Key& key, std::uint64_t remote_offset,
             transport::Completion* /*completion*/) noexcept {
    return access_.get(local, key, remote_offset);
  }
  Status put(const transport::Payload& local, const transport::Key& key, std::uint64_t remote_offset,
             transport::Completion* /*completion*/) noexcept {
    return access_.put(local, key, remote_offset);
  }
  /// By this CPU, where the peer's memory is this process's or mapped.
  Status atomic(const transport::Atomic& atomic, const transport::Key& key,
                transport::Completion* /*completion*/) noexcept {
    return access_.atomic(atomic, key);
  }
  void limits(transport::LinkLimits& out) noexcept;
  /// What lies in the window that the peer writes to.
  unsigned poll(unsigned budget) noexcept;
  /// The packet that lies next in that window, if it is the one that is wanted.
  std::int32_t take(transport::Header& wanted, void* memory, std::uint32_t capacity) noexcept;
  /// Of a payload that the sink kept in its cell.
  void release(std::uint64_t keep) noexcept;
  std::uint32_t kept_arrived(std::uint64_t keep, std::uint32_t all, std::uint32_t bytes) noexcept;

 private:
  friend class Device;
  friend class Links;
  enum class State : std::uint8_t { connecting, up, down };

  [[gnu::noinline]] Status pio_send_lines(const transport::Header& header, const void* payload,
                                          std::uint32_t bytes) noexcept;
  /// Into a cell; `whole`: what its record is, if it is published whole; `slow`: ordinary stores to what the
  /// peer has read are.
  Status send_cell(const transport::Header& header, const transport::Payload& payload, RecordKind whole,
                   bool slow) noexcept;
  void store_beyond(std::byte* record, const std::byte* payload, std::uint32_t bytes) noexcept;
  /// What the receiver of our cells learnt.
  bool is_far() const noexcept { return peer_.own_slot().far.load(std::memory_order_relaxed) != 0; }
  bool is_stream(std::uint32_t bytes) noexcept;
  bool passes_few(const transport::Payload& payload) noexcept;
  RecordKind kind_of_growing(const transport::Payload& payload) noexcept;
  Way way_of(const transport::Payload& payload, bool slow) noexcept;
  [[gnu::noinline]] StoreSpeed* to_time(Way way, const transport::Payload& payload) noexcept;
  /// The same where they are slow. What fits a record has the window when no cell is left.
  [[gnu::noinline]] Status send_past(const transport::Header& header, const transport::Payload& payload,
                                     RecordKind whole) noexcept;
  [[gnu::noinline]] Status send_stream(const transport::Header& header, const transport::Payload& payload,
                                       RecordKind whole) noexcept;
  Status send_behind(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept;
  [[gnu::noinline]] bool leaves_window(const transport::Header& header, const void* payload,
                                       std::uint32_t bytes) noexcept;
  [[gnu::noinline]] Status eager_past(const transport::Header& header,
                                      const transport::Payload& payload) noexcept;
  [[gnu::cold, gnu::noinline]] Status without_cell(std::uint32_t bytes) noexcept;
  void pack_record(const transport::Header& header, const transport::Payload& payload) noexcept;
  Status inbox_send(RecordKind kind, std::uint32_t detail, const transport::Header& header,
                    const transport::Payload& payload, std::uint32_t bytes) noexcept;
  [[gnu::cold, gnu::noinline]] Status refusal() const noexcept;
  /// After each publication: does what the peer asks for, see hints.hpp.
  void published() noexcept {
    if (fence_) [[unlikely]]
      hw::full_fence();
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);  // the peer's membarrier does the rest
    if (attention_->load(std::memory_order_relaxed) != 0) [[unlikely]]
      tell();
  }
  /// Leaves a hint about the window, and wakes the peer if it sleeps.
  [[gnu::cold, gnu::noinline]] void tell() noexcept;
  void describe() noexcept;

  // The send path.
  WindowSender tx_;
  const std::atomic<std::uint32_t>* attention_ = nullptr;  // of our slot; without a window the peer's `armed`
  std::uint32_t pio_max_ = 0;
  State state_ = State::connecting;
  bool fence_ = false;
  bool broken_ = false;
  bool moving_ = false;        // to a window it has, as soon as the inbox has no record of it any more
  bool learns_speed_ = false;  // of its stores
  // The buffered path.
  Device* device_ = nullptr;
  std::uint32_t id_ = 0;
  CellsOut cells_out_{};
  Row row_;
  StoreSpeed stores_, strings_;  // ordinary ones, and those by the string instruction
  static constexpr std::uint32_t kPatience = 4096;
  std::uint32_t refused_ = 0;  // times, since it was asked whether one is under way
  InboxSender inbox_;
  // The receive path.
  void* cookie_ = nullptr;
  PeerSegment peer_;
  std::uint32_t kept_ = 0;               // payloads that lie in the peer's cells on
  std::uint32_t rx_slot_ = kNone;        // the peer's slot in our table
  std::uint32_t refused_slot_ = kNone;   // of one that was given up, and may still read
  std::uint32_t rx_window_ = kNone;      // the window it took there, which is polled
  std::uint32_t came_by_inbox_ = 0;      // records since the last look (share.cpp)
  bool is_half_ = false;                 // the next record's payload did not go on coming (growing.hpp)
  bool is_over_ = false;                 // the peer writes nothing any more
  Distance distance_;                    // of its cells
  std::array<CellPages, 2> cell_pages_;  // of each size: the peer's, in our mapping
  // The rest.
  std::uint32_t tx_window_ = kNone;
  bool low_latency_ = false;
  std::uint32_t place_ = 0;         // among the device's living links; of one that is down: see Links
  std::uint64_t sent_at_look_ = 0;  // by the inbox (share.cpp)
  RemoteAccess access_;
  const char* path_ = "";
};

}  // namespace stria::shm
