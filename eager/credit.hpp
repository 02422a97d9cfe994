// Bounds the memory for unexpected messages. A receiver grants each sender an amount of payload that may be
// under way or unmatched. A sender without enough credit announces its message (RTS) instead, so that only a
// header waits at the receiver. Grants count payload, because both sides know that. The budget counts memory:
// what the buffers in use take, and the most that buffers could take for what is still granted. The sum stays
// within the budget, apart from the first grant of each peer, which needs no message.
//
//   sender:    credit -= bytes of each eager payload; CREDIT packets add to it
//   receiver:  outstanding = what the sender may still send; held = memory of what came and is not consumed
//              committed = sum over peers of (most_memory(outstanding) + held) <= budget
#pragma once

#include <algorithm>
#include <cstdint>

namespace stria::eager {

/// Payload bytes that a peer may send before it has heard from the receiver. A part of the protocol: both
/// sides count on it.
inline constexpr std::uint64_t kFirstGrant = std::uint64_t{64} * 1024;
/// Most payload bytes that a grant is topped up to. More would bring nothing: this covers the longest burst
/// between two polls of the receiver.
inline constexpr std::uint64_t kGrantTarget = std::uint64_t{1024} * 1024;

/// A buffer takes at most this many times the bytes that it holds (BufferPool::footprint()).
inline constexpr std::uint64_t kMostPerByte = 2;
constexpr std::uint64_t most_memory(std::uint64_t bytes) noexcept {
  return kMostPerByte * bytes;
}

/// What the receiver counts for one peer, in bytes.
struct Grant {
  std::uint32_t outstanding = kFirstGrant;  ///< payload that the peer may still send
  std::uint32_t due = 0;   ///< payload that is granted, and that no CREDIT packet has told the peer yet
  std::uint64_t held = 0;  ///< memory that is committed to payload that has come
};
static_assert(kFirstGrant <= kGrantTarget && kGrantTarget <= 0xffffffff, "what is outstanding has 32 bits");

/// The receiver's budget for all peers of one worker. Threads: one at a time, under the worker's lock.
class Budget {
 public:
  explicit Budget(std::uint64_t bytes) noexcept : bytes_(bytes) { set_target(); }

  /// Gives a peer its first grant. A peer that reconnects gets a fresh first grant.
  void peer_joined(Grant& grant) noexcept {
    ++peers_;
    grant.outstanding = kFirstGrant;
    committed_ += most_memory(kFirstGrant);
    set_target();
  }
  /// Ends a peer's grant. The memory that is held for the peer stays committed until it is released.
  void peer_left(Grant& grant) noexcept {
    --peers_;
    committed_ -= most_memory(grant.outstanding);
    grant.outstanding = grant.due = 0;
    set_target();
  }

  /// Counts `bytes` of eager payload that have come from a peer, and holds the most memory that they could
  /// take. False: `bytes` is more than the peer may still send; nothing changed.
  [[nodiscard]] bool arrived(Grant& grant, std::uint64_t bytes) noexcept {
    if (bytes > grant.outstanding) [[unlikely]]
      return false;
    grant.outstanding -= static_cast<std::uint32_t>(bytes);
    grant.held += most_memory(bytes);
    return true;
  }
  /// Counts payload that is matched on arrival, as arrived() and consumed() together do. `bytes` must be at
  /// most grant.outstanding.
  void consumed_on_arrival(Grant& grant, std::uint64_t bytes) noexcept {
    grant.outstanding -= bytes;
    committed_ -= most_memory(bytes);
  }
  /// Undoes what consumed_on_arrival(), or arrived() and consumed(), have counted: the payload is still to
  /// come.
  void undo_arrival(Grant& grant, std::uint32_t bytes) noexcept {
    grant.outstanding += bytes;
    committed_ += most_memory(bytes);
  }
  /// Counts that payload of arrived() lies in a buffer that takes `memory` bytes, or needs none (0): no more
  /// memory is held for it.
  void kept(Grant& grant, std::uint64_t bytes, std::uint64_t memory) noexcept {
    release(grant, most_memory(bytes) - std::min(memory, most_memory(bytes)));
  }
  /// Counts that payload of arrived() needs no buffer, and never had one: it was matched on arrival, or
  /// dropped. No memory is held for it.
  void consumed(Grant& grant, std::uint64_t bytes) noexcept { release(grant, most_memory(bytes)); }
  /// Releases held memory: a buffer that takes `memory` is free again.
  void release(Grant& grant, std::uint64_t memory) noexcept {
    const std::uint64_t counted = std::min(grant.held, memory);
    grant.held -= counted;
    committed_ -= counted;
  }

  /// Whether a peer has so little outstanding that it is to be topped up.
  bool is_low(const Grant& grant) const noexcept { return grant.outstanding <= low_; }
  /// Grants a peer more when it is low and the budget has room. True: grant.due has grown.
  bool top_up(Grant& grant) noexcept {
    if (!is_low(grant)) return false;
    const std::uint64_t room = bytes_ > committed_ ? bytes_ - committed_ : 0;
    // Each peer can have its first grant again, even while other peers use the whole budget.
    const std::uint64_t reserved = most_memory(grant.outstanding) + grant.held;
    const std::uint64_t own = most_memory(kFirstGrant) - std::min(reserved, most_memory(kFirstGrant));
    const std::uint64_t more = std::min(target_ - grant.outstanding, std::max(room, own) / kMostPerByte);
    if (more < kFirstGrant / 2) return false;
    grant.outstanding += static_cast<std::uint32_t>(more);
    grant.due += static_cast<std::uint32_t>(more);
    committed_ += most_memory(more);
    return true;
  }
  std::uint64_t committed() const noexcept { return committed_; }

 private:
  /// Sets how much a peer may have outstanding: half of an equal share, so that peers that join late find
  /// room.
  void set_target() noexcept {
    const std::uint64_t parts = 2 * std::max<std::uint64_t>(peers_, 1);
    target_ = std::clamp(bytes_ / parts / kMostPerByte, kFirstGrant, kGrantTarget);
    low_ = target_ / 2;
  }

  std::uint64_t bytes_;
  std::uint64_t committed_ = 0;
  std::uint64_t peers_ = 0;
  std::uint64_t target_ = 0;
  std::uint64_t low_ = 0;  // a peer whose `outstanding` is at or below this gets a new grant
};

}  // namespace stria::eager
