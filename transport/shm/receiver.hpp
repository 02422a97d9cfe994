// The receiving side of a device: what lies in the windows that are polled, and in the inbox, is delivered by
// the incoming halves of links.
#pragma once

#include <cstdint>

#include "transport/shm/inbox.hpp"
#include "transport/shm/key_maker.hpp"
#include "transport/shm/link.hpp"
#include "transport/shm/shared.hpp"

namespace stria::shm {

class Peers;

/// The device's thread.
class Receiver {
 public:
  struct Parts {
    Shared& shared;
    KeyMaker& keys;
    Peers& peers;
  };
  explicit Receiver(const Parts& parts) noexcept : parts_(parts) {}
  /// The segment is made.
  void open() { inbox_ = InboxReceiver(parts_.shared.own()); }

  /// Delivers up to `budget` records; returns how many.
  unsigned receive(unsigned budget) noexcept;
  /// Delivers what lies in one window, whose link has it.
  unsigned poll(std::uint32_t window, unsigned budget) noexcept;
  /// No peer claimed the next slot of the inbox.
  bool is_inbox_empty() const noexcept { return inbox_.is_empty(); }
  /// As is_inbox_empty(), after a barrier: what was published before it is seen.
  bool is_inbox_idle() const noexcept {
    std::uint64_t state = 0;
    inbox_.next(state);
    return inbox_phase(state) == InboxPhase::free;
  }

  /// Delivers everything the peer of the link sent. False: it is about to send more; try again later.
  bool drain(Link& link, bool is_over) noexcept;
  /// Takes what the peer of a slot left in the inbox out of it, and delivers it if there is a link. Records
  /// of other peers may stand before it that are about to be published, or stand still: its end does not wait
  /// for them. False: the peer lives, and is about to publish itself.
  bool drain_inbox(std::uint32_t slot, bool is_over) noexcept;
  /// Delivers a record of the inbox. A hello says no more than the peer's slot.
  void take_record(std::uint64_t control, const std::byte* record, Link& link) noexcept;

 private:
  unsigned poll_window(Polled& polled, unsigned budget) noexcept;
  unsigned poll_inbox(unsigned budget) noexcept;
  std::uint32_t deliver(const Incoming& from, const std::byte* header, const std::byte* payload,
                        std::uint32_t bytes, bool buffered) const noexcept;
  std::uint32_t deliver_other(Incoming& from, const WindowReceiver& window, std::uint64_t control,
                              std::uint32_t& halves) noexcept;
  bool deliver_inbox(std::uint64_t control, const std::byte* record, Incoming& incoming) noexcept;
  [[gnu::cold, gnu::noinline]] void report_broken(Link& link, std::uint64_t control) noexcept;

  const Parts parts_;
  std::uint32_t poll_first_ = 0;  // the place of the window that was active last
  InboxReceiver inbox_;
};

}  // namespace stria::shm
