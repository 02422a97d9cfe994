// The outgoing half of a link: packets into the window that this device took at the peer, into the peer's
// inbox, or into cells of this device that a record there names; and how the half gets that window.
//
//   begin ── connecting ── go_on ──► up ──────────────────────────────► shut: down
//                                     │  take_window ── moving ── go_on ──► by the window
//                                     │  give_back_if_asked ──► by the inbox
//
// What the smallest messages touch lies in the first lines of the object, which is the beginning of a Link.
#pragma once

#include <atomic>
#include <cstdint>

#include "hw/pio.hpp"
#include "transport/contract.hpp"
#include "transport/shm/cells.hpp"
#include "transport/shm/gather.hpp"
#include "transport/shm/inbox.hpp"
#include "transport/shm/peer_segment.hpp"
#include "transport/shm/row.hpp"
#include "transport/shm/store_speed.hpp"
#include "transport/shm/window.hpp"

namespace stria::shm {

struct Shared;

/// The device's thread.
class Outgoing {
 public:
  Outgoing(Shared& shared, const PeerSegment& peer) noexcept : shared_(shared), peer_(peer) {}

  // The contract.
  Status pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept;
  Status eager_send(const transport::Header& header, const transport::Payload& payload) noexcept;
  Status send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                         const transport::Key& key) noexcept;
  /// What the half knows of them.
  void limits(transport::LinkLimits& out) const noexcept;

  // Its window, and its end (outgoing_window.cpp).
  /// This device has a slot at the peer. Takes a window there if one is free; until greet() sends answer
  /// no_resource.
  void begin(std::uint32_t link_number, bool low_latency) noexcept;
  /// Takes a window for a half that has none, if one is free. True: the half has it, and moves to it.
  bool take_window() noexcept;
  /// Says hello where that was not done, and opens the window that the half moves to, if the peer's inbox
  /// lets it. False: it has to be called again.
  bool go_on() noexcept;
  /// go_on() is to be called.
  bool is_waiting() const noexcept { return state_ == State::connecting || moving_; }
  /// Gives the window back that the peer asks for, once all of it was taken out. True: it did.
  bool give_back_if_asked() noexcept;
  /// How many records went by the inbox since the last call.
  std::uint64_t sent_since_look() noexcept;
  void shut() noexcept;

  bool is_up() const noexcept { return state_ == State::up; }
  bool is_down() const noexcept { return state_ == State::down; }
  /// The window at the peer that this half has; kNone: none.
  std::uint32_t window_number() const noexcept { return window_number_; }
  bool uses_window() const noexcept { return window_.is_open(); }
  /// Nothing was sent but the greeting.
  bool has_only_greeted() const noexcept { return inbox_.sent() <= 1 && window_.is_untouched(); }
  void be_low_latency() noexcept { low_latency_ = true; }
  /// The link's among all links of the device: the owner of its cells.
  std::uint32_t link_number() const noexcept { return link_number_; }

 private:
  enum class State : std::uint8_t { connecting, up, down };
  static constexpr std::uint32_t kPatience = 4096;

  [[gnu::noinline]] Status pio_send_lines(const transport::Header& header, const void* payload,
                                          std::uint32_t bytes) noexcept;
  /// Into a cell; `whole`: what its record is, if it is published whole; `slow`: ordinary stores to lines
  /// that the peer has cached are slow.
  Status send_cell(const transport::Header& header, const transport::Payload& payload, RecordKind whole,
                   bool slow) noexcept;
  bool is_stream(std::uint32_t bytes) noexcept;
  bool passes_few(const transport::Payload& payload) noexcept;
  RecordKind kind_of_growing(const transport::Payload& payload) noexcept;
  [[gnu::noinline]] StoreSpeed* to_time(Way way, const transport::Payload& payload) noexcept;
  /// Into a cell, past the caches. What fits a record has the window when no cell is left.
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
      notify();
  }
  /// Leaves a hint about the window, and wakes the peer if it sleeps.
  [[gnu::cold, gnu::noinline]] void notify() noexcept;
  bool greet() noexcept;
  bool move_in() noexcept;
  void claim_window() noexcept;
  void open_window() noexcept;

  WindowSender window_;
  const std::atomic<std::uint32_t>* attention_ = nullptr;  // of the own slot; else the peer's `armed`
  std::uint32_t pio_max_ = 0;
  State state_ = State::connecting;
  bool fence_ = false;
  bool moving_ = false;        // to a window it has, as soon as the inbox has no record of it any more
  bool learns_speed_ = false;  // of its stores
  // The buffered path.
  Shared& shared_;
  std::uint32_t link_number_ = 0;
  CellsOut cells_out_{};
  Row row_;
  StoreSpeed stores_, strings_;  // ordinary ones, and those by the string instruction
  std::uint32_t refused_ = 0;    // times without a cell, since it was asked whether one is under way
  InboxSender inbox_;
  const PeerSegment& peer_;
  std::uint64_t sent_at_look_ = 0;       // by the inbox (sharing.hpp)
  std::uint32_t window_number_ = kNone;  // at the peer
  bool low_latency_ = false;
};

}  // namespace stria::shm
