// The receiving side of a device: delivers the records that peers wrote to the hot windows (hints.hpp) and to
// the inbox. Each record is delivered through the incoming part of its peer's link.
#pragma once

#include <cstdint>

#include "transport/shm/inbox.hpp"
#include "transport/shm/key_maker.hpp"
#include "transport/shm/link.hpp"
#include "transport/shm/shared.hpp"

namespace stria::shm {

class Peers;

/// Threads: the device's thread only.
class Receiver {
 public:
  struct Parts {
    Shared& shared;
    KeyMaker& keys;
    Peers& peers;
  };
  explicit Receiver(const Parts& parts) noexcept : parts_(parts) {}
  /// To be called once, when the device's segment exists.
  void open() { inbox_ = InboxReceiver(parts_.shared.own.view()); }

  /// Delivers up to `budget` records; returns how many.
  unsigned receive(unsigned budget) noexcept;
  /// Delivers up to `budget` records of one window, hot or cold; `window` belongs to a link, or is kNone.
  unsigned poll(std::uint32_t window, unsigned budget) noexcept;
  /// Whether no peer has claimed the next slot of the inbox.
  bool is_inbox_empty() const noexcept { return inbox_.is_empty(); }
  /// Whether the next slot of the inbox is free. After Wakeup::barrier() it sees every slot that a peer
  /// claimed before the barrier.
  bool is_inbox_idle() const noexcept {
    std::uint64_t state = 0;
    inbox_.next(state);
    return inbox_phase(state) == InboxPhase::free;
  }

  /// Delivers every record that the peer of the link has sent. `is_over`: the peer writes nothing any more,
  /// so a record that is not complete never will be. False: the peer is still writing a record; call again
  /// later.
  bool drain(Link& link, bool is_over) noexcept;
  /// Removes the records of the peer of `slot` from the inbox, and delivers them if the peer has a link. It
  /// skips the records of other peers, which may stand before them claimed but not yet published: the end of
  /// this peer does not wait for other peers. `is_over` is as in drain(). False: the peer has claimed an
  /// inbox slot and may still publish its record there; call again later.
  bool drain_inbox(std::uint32_t slot, bool is_over) noexcept;
  /// Delivers a record of the inbox. A hello carries nothing beyond the peer's slot, so it is not delivered.
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
  std::uint32_t poll_first_ = 0;  // index among the hot windows at which receive() starts
  InboxReceiver inbox_;
};

}  // namespace stria::shm
