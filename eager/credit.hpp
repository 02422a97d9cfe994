// Bounded unexpected memory. A receiver grants each sender an amount of payload it may have under way or
// unmatched; a sender without enough of it announces (RTS) instead, so that only a header waits at the
// receiver. The sum of what is granted and what is buffered stays within the budget, apart from the first
// grant of each peer, which needs no message.
//
//   sender:    credit -= bytes of each eager payload; CREDIT packets add to it
//   receiver:  outstanding = what the sender may still send; buffered = what waits unmatched
//              committed = sum over peers of (outstanding + buffered) <= budget
#pragma once

#include <algorithm>
#include <cstdint>

namespace stria::eager {

/// What a peer may send before it heard from the receiver. Part of the protocol: both sides count it.
inline constexpr std::uint64_t kFirstGrant = std::uint64_t{64} * 1024;
/// Beyond this much outstanding, a grant more buys nothing: it covers the longest burst between two looks.
inline constexpr std::uint64_t kGrantTarget = std::uint64_t{1024} * 1024;

/// The receiver's side for one peer.
struct Grant {
  std::uint64_t outstanding = kFirstGrant;
  std::uint64_t buffered = 0;  ///< arrived and not consumed
  std::uint64_t due = 0;       ///< granted, the CREDIT packet is not out
};

/// The receiver's side for the worker. Threads: the worker's lock.
class Budget {
 public:
  explicit Budget(std::uint64_t bytes) noexcept : bytes_(bytes) {}

  void peer_joined() noexcept {
    ++peers_;
    committed_ += kFirstGrant;
  }
  /// What is buffered stays committed until it is consumed; nothing is granted any more.
  void peer_left(Grant& grant) noexcept {
    --peers_;
    committed_ -= grant.outstanding;
    grant.outstanding = grant.due = 0;
  }

  /// `bytes` of eager payload arrived from the peer. False, and nothing changed: it had not so much left.
  [[nodiscard]] bool arrived(Grant& grant, std::uint64_t bytes) noexcept {
    if (bytes > grant.outstanding) [[unlikely]]
      return false;
    grant.outstanding -= bytes;
    grant.buffered += bytes;
    return true;
  }
  /// They left again: matched on arrival, or taken from the unexpected queue.
  void consumed(Grant& grant, std::uint64_t bytes) noexcept {
    const std::uint64_t counted = std::min(grant.buffered, bytes);
    grant.buffered -= counted;
    committed_ -= counted;
  }

  /// Tops the peer up when it is low and the budget has room. True when grant.due became positive.
  bool top_up(Grant& grant) noexcept {
    const std::uint64_t aim = target();
    if (grant.outstanding > aim / 2) return false;
    const std::uint64_t room = bytes_ > committed_ ? bytes_ - committed_ : 0;
    // The first grant is a peer's own: others that sit on theirs cannot take it away.
    const std::uint64_t held = grant.outstanding + grant.buffered;
    const std::uint64_t own = held < kFirstGrant ? kFirstGrant - held : 0;
    const std::uint64_t more = std::min(aim - grant.outstanding, std::max(room, own));
    if (more < kFirstGrant / 2) return false;
    grant.outstanding += more;
    grant.due += more;
    committed_ += more;
    return true;
  }
  std::uint64_t committed() const noexcept { return committed_; }
  /// How much a peer may have outstanding: half of an equal share, so that late comers find room.
  std::uint64_t target() const noexcept {
    return std::clamp(bytes_ / (2 * std::max<std::uint64_t>(peers_, 1)), kFirstGrant, kGrantTarget);
  }

 private:
  std::uint64_t bytes_;
  std::uint64_t committed_ = 0;
  std::uint64_t peers_ = 0;
};

}  // namespace stria::eager
