// The outgoing part of a link: sends packets through the window that this device took in the peer's segment,
// through the peer's inbox, or through cells of this device that a record in window or inbox names. It also
// takes the window and gives it back.
//
//   begin ── connecting ── go_on ──► up ──────────────────────────────► shut: down
//                                     │  take_window ── moving ── go_on ──► by the window
//                                     │  give_back_if_asked ──► by the inbox
//
// What the smallest messages touch lies in the first cache lines of the object, which are the first of a
// Link.
#pragma once

#include <atomic>
#include <cstdint>

#include "hw/pio.hpp"
#include "transport/contract.hpp"
#include "transport/shm/burst.hpp"
#include "transport/shm/cells.hpp"
#include "transport/shm/gather.hpp"
#include "transport/shm/inbox.hpp"
#include "transport/shm/peer_segment.hpp"
#include "transport/shm/window.hpp"

namespace stria::shm {

struct Shared;
struct CellFacts;

/// Threads: the device's thread only.
class Outgoing {
 public:
  Outgoing(Shared& shared, const PeerSegment& peer) noexcept : shared_(shared), peer_(peer) {}

  // Calls of the provider contract (transport/contract.hpp); Link describes them.
  Status pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept;
  Status eager_send(const transport::Header& header, const transport::Payload& payload) noexcept;
  Status send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                         const transport::Key& key) noexcept;
  /// Fills in the limits that this part knows.
  void limits(transport::LinkLimits& out) const noexcept;

  // The window, and the end of sending (outgoing_window.cpp).
  /// To be called when this device has a slot in the peer's segment. Takes a window there if one is free.
  /// Until go_on() has sent the hello, sends answer no_resource.
  void begin(std::uint32_t link_number, bool low_latency) noexcept;
  /// Takes a window for a link that is up and has none. True: it took one, and go_on() moves to it. False:
  /// none is free, or the link has one.
  bool take_window() noexcept;
  /// Sends the hello if that is still to be done, and opens the window that the link moves to. False: the
  /// peer's inbox is full, or still has packets of this link; call again later.
  bool go_on() noexcept;
  /// Whether go_on() is to be called.
  bool is_waiting() const noexcept { return state_ == State::connecting || moving_; }
  /// Gives the window back if the peer asks for it and has taken out every record in it. True: it did.
  bool give_back_if_asked() noexcept;
  /// How many records went through the inbox since the last call.
  std::uint64_t sent_since_look() noexcept;
  /// Sends probes (distance.hpp) if they tell the distance. Not where the window was not used since the last
  /// ones, or the peer does not poll it; but always if the link is new.
  void probe(bool is_new) noexcept;
  /// Ends sending: from now on sends answer peer_failed.
  void shut() noexcept;

  bool is_up() const noexcept { return state_ == State::up; }
  bool is_down() const noexcept { return state_ == State::down; }
  /// The window in the peer's segment that this link has, open or not yet; kNone: none.
  std::uint32_t window_number() const noexcept { return window_number_; }
  bool uses_window() const noexcept { return window_.is_open(); }
  /// Whether nothing was sent but the hello.
  bool has_sent_only_hello() const noexcept { return inbox_.sent() <= 1 && window_.is_untouched(); }
  void become_low_latency() noexcept { low_latency_ = true; }
  /// Number of the link among all links of the device: by it Cells know the owner of a cell.
  std::uint32_t link_number() const noexcept { return link_number_; }

 private:
  enum class State : std::uint8_t { connecting, up, down };
  static constexpr std::uint32_t kPatience = 4096;  // refusals for lack of a cell, see without_cell()

  [[gnu::noinline]] Status pio_send_lines(const transport::Header& header, const void* payload,
                                          std::uint32_t bytes) noexcept;
  /// Sends a packet through a cell. `whole`: the kind of its record if the cell is published whole.
  Status send_cell(const transport::Header& header, const transport::Payload& payload,
                   RecordKind whole) noexcept;
  bool takes_far_cell(std::uint32_t bytes) const noexcept;
  bool is_in_burst(std::uint32_t bytes) noexcept;
  CellFacts facts_of(std::uint32_t bytes, bool may_grow) noexcept;
  /// send_cell() as a function of its own, for callers that may go on by the window when it fails.
  [[gnu::noinline]] Status send_cell_apart(const transport::Header& header, const transport::Payload& payload,
                                           RecordKind whole) noexcept;
  Status send_behind(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept;
  [[gnu::noinline]] bool leaves_window(const transport::Header& header, const void* payload,
                                       std::uint32_t bytes) noexcept;
  [[gnu::noinline]] Status eager_far(const transport::Header& header,
                                     const transport::Payload& payload) noexcept;
  [[gnu::cold, gnu::noinline]] Status without_cell(std::uint32_t bytes) noexcept;
  void pack_record(const transport::Header& header, const transport::Payload& payload) noexcept;
  Status inbox_send(RecordKind kind, std::uint32_t detail, const transport::Header& header,
                    const transport::Payload& payload, std::uint32_t bytes) noexcept;
  [[gnu::cold, gnu::noinline]] Status refusal() const noexcept;
  /// To be called after each publication: leaves a hint, or wakes the peer, if the peer asks for it
  /// (hints.hpp).
  void published() noexcept {
    if (fence_) [[unlikely]]
      hw::full_fence();
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);  // the peer's membarrier does the rest
    if (attention_->load(std::memory_order_relaxed) != 0) [[unlikely]]
      notify();
  }
  /// Leaves a hint about the window, if one is open, and wakes the peer if it sleeps.
  [[gnu::cold, gnu::noinline]] void notify() noexcept;
  bool send_hello() noexcept;
  bool enter_window() noexcept;
  void claim_window() noexcept;
  void open_window() noexcept;

  WindowSender window_;
  // The word to load after each publication: `attention` of the own slot with a window, else the peer's
  // `armed`.
  const std::atomic<std::uint32_t>* attention_ = nullptr;
  std::uint32_t pio_max_ = 0;
  State state_ = State::connecting;
  bool fence_ = false;   // membarrier is missing on either side: this side fences
  bool moving_ = false;  // a window was taken, and is opened once the inbox has no packet of this link
  // The buffered path.
  Shared& shared_;
  std::uint32_t link_number_ = 0;
  CellsOut cells_out_{};
  Burst burst_;
  std::uint32_t refused_ = 0;  // refusals for lack of a cell since without_cell() last looked
  InboxSender inbox_;
  const PeerSegment& peer_;
  std::uint64_t sent_at_look_ = 0;       // records through the inbox when sent_since_look() was last called
  std::uint64_t position_at_probe_ = 0;  // of the window, behind the last probe
  std::uint32_t window_number_ = kNone;  // see window_number()
  bool low_latency_ = false;
};

}  // namespace stria::shm
