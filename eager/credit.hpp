// Bounded unexpected memory. A receiver grants each sender an amount of payload it may have under way or
// unmatched; a sender without enough of it announces (RTS) instead, so that only a header waits at the
// receiver. Grants count payload, because that is what both sides know. The budget counts memory: what a
// buffer takes while it is in use, and the most that buffers could take for what is still granted. The sum
// stays within the budget, apart from the first grant of each peer, which needs no message.
//
//   sender:    credit -= bytes of each eager payload; CREDIT packets add to it
//   receiver:  outstanding = what the sender may still send; held = memory of what came and is not consumed
//              committed = sum over peers of (most_memory(outstanding) + held) <= budget
#pragma once

#include <algorithm>
#include <cstdint>

namespace stria::eager {

/// What a peer may send before it heard from the receiver. Part of the protocol: both sides count it.
inline constexpr std::uint64_t kFirstGrant = std::uint64_t{64} * 1024;
/// Beyond this much outstanding, a grant more buys nothing: it covers the longest burst between two looks.
inline constexpr std::uint64_t kGrantTarget = std::uint64_t{1024} * 1024;

/// A buffer takes at most this many times the bytes it holds (BufferPool::footprint).
inline constexpr std::uint64_t kMostPerByte = 2;
constexpr std::uint64_t most_memory(std::uint64_t bytes) noexcept {
  return kMostPerByte * bytes;
}

/// The receiver's side for one peer.
struct Grant {
  std::uint32_t outstanding = kFirstGrant;  ///< payload
  std::uint32_t due = 0;                    ///< payload that is granted, and the CREDIT packet is not out
  std::uint64_t held = 0;                   ///< memory
};
static_assert(kFirstGrant <= kGrantTarget && kGrantTarget <= 0xffffffff, "what is outstanding has 32 bits");

/// The receiver's side for the worker. Threads: the worker's lock.
class Budget {
 public:
  explicit Budget(std::uint64_t bytes) noexcept : bytes_(bytes) { share(); }

  void peer_joined(Grant& grant) noexcept {
    ++peers_;
    grant.outstanding = kFirstGrant;  // it may have left before
    committed_ += most_memory(kFirstGrant);
    share();
  }
  /// What is held stays committed until it is released; nothing is granted any more.
  void peer_left(Grant& grant) noexcept {
    --peers_;
    committed_ -= most_memory(grant.outstanding);
    grant.outstanding = grant.due = 0;
    share();
  }

  /// `bytes` of eager payload arrived from the peer; the most they could take is held for them. False, and
  /// nothing changed: it had not so much left.
  [[nodiscard]] bool arrived(Grant& grant, std::uint64_t bytes) noexcept {
    if (bytes > grant.outstanding) [[unlikely]]
      return false;
    grant.outstanding -= static_cast<std::uint32_t>(bytes);
    grant.held += most_memory(bytes);
    return true;
  }
  /// arrived() and consumed() in one, for what is matched on arrival; the peer had so much left.
  void passed(Grant& grant, std::uint64_t bytes) noexcept {
    grant.outstanding -= bytes;
    committed_ -= most_memory(bytes);
  }
  /// What passed() counted is still to come.
  void take_back(Grant& grant, std::uint32_t bytes) noexcept {
    grant.outstanding += bytes;
    committed_ += most_memory(bytes);
  }
  /// They lie in a buffer now that takes `memory`, or 0 when they need none.
  void kept(Grant& grant, std::uint64_t bytes, std::uint64_t memory) noexcept {
    release(grant, most_memory(bytes) - std::min(memory, most_memory(bytes)));
  }
  /// They need no buffer any more, and never had one: matched on arrival, or dropped.
  void consumed(Grant& grant, std::uint64_t bytes) noexcept { release(grant, most_memory(bytes)); }
  /// A buffer that takes `memory` is free again.
  void release(Grant& grant, std::uint64_t memory) noexcept {
    const std::uint64_t counted = std::min(grant.held, memory);
    grant.held -= counted;
    committed_ -= counted;
  }

  bool is_low(const Grant& grant) const noexcept { return grant.outstanding <= low_; }
  /// Tops the peer up when it is low and the budget has room. True when grant.due became positive.
  bool top_up(Grant& grant) noexcept {
    if (!is_low(grant)) return false;
    const std::uint64_t aim = target_;
    const std::uint64_t room = bytes_ > committed_ ? bytes_ - committed_ : 0;
    // The first grant is a peer's own: others that sit on theirs cannot take it away.
    const std::uint64_t reserved = most_memory(grant.outstanding) + grant.held;
    const std::uint64_t own = most_memory(kFirstGrant) - std::min(reserved, most_memory(kFirstGrant));
    const std::uint64_t more = std::min(aim - grant.outstanding, std::max(room, own) / kMostPerByte);
    if (more < kFirstGrant / 2) return false;
    grant.outstanding += static_cast<std::uint32_t>(more);
    grant.due += static_cast<std::uint32_t>(more);
    committed_ += most_memory(more);
    return true;
  }
  std::uint64_t committed() const noexcept { return committed_; }

 private:
  /// How much a peer may have outstanding: half of an equal share, so that late comers find room.
  void share() noexcept {
    const std::uint64_t parts = 2 * std::max<std::uint64_t>(peers_, 1);
    target_ = std::clamp(bytes_ / parts / kMostPerByte, kFirstGrant, kGrantTarget);
    low_ = target_ / 2;
  }

  std::uint64_t bytes_;
  std::uint64_t committed_ = 0;
  std::uint64_t peers_ = 0;
  std::uint64_t target_ = 0;
  std::uint64_t low_ = 0;  // an amount that is topped up
};

}  // namespace stria::eager
