// Bounded unexpected memory. A receiver grants each sender an amount of payload it may have under way or unmatched; a
// sender without enough of it announces (RTS) instead, so that only a header waits at the receiver. The sum of what is
// granted and what is buffered stays within the budget, apart from the first grant of each peer, which needs no message.
//
//   sender:    credit -= bytes of each eager payload; CREDIT packets add to it
//   receiver:  outstanding = what the sender may still send; buffered = what waits unmatched
//              committed = sum over peers of (outstanding + buffered) <= budget
#pragma once

#include <algorithm>
#include <cstdint>

namespace stria::eager {

/// What a peer may send before it heard from the receiver. Part of the protocol: both sides count it.
inline constexpr std::uint64_t kFirstGrant = 64 * 1024;
/// Beyond this much outstanding, a grant more buys nothing: it covers the longest burst between two looks.
inline constexpr std::uint64_t kGrantTarget = 1024 * 1024;

/// The receiver's side for one peer.
struct Grant {
  std::uint64_t outstanding = kFirstGrant;
  std::uint64_t due = 0;  ///< granted, the CREDIT packet is not out
};

/// The receiver's side for the worker. Threads: the worker's lock.
class Budget {
 public:
  explicit Budget(std::uint64_t bytes) noexcept : bytes_(bytes) {}

  void peer_joined() noexcept { committed_ += kFirstGrant; }
  void peer_left(const Grant& grant) noexcept { committed_ -= std::min(committed_, grant.outstanding); }

  /// `bytes` of eager payload arrived from the peer.
  void arrived(Grant& grant, std::uint64_t bytes) noexcept { grant.outstanding -= std::min(grant.outstanding, bytes); }
  /// They left again: matched on arrival, or taken from the unexpected queue.
  void consumed(std::uint64_t bytes) noexcept { committed_ -= std::min(committed_, bytes); }

  /// Tops the peer up when it is low and the budget has room. True when grant.due became positive.
  bool top_up(Grant& grant) noexcept {
    if (grant.outstanding > kGrantTarget / 2) return false;
    const std::uint64_t room = bytes_ > committed_ ? bytes_ - committed_ : 0;
    const std::uint64_t more = std::min(kGrantTarget - grant.outstanding, room);
    if (more < kFirstGrant) return false;
    grant.outstanding += more;
    grant.due += more;
    committed_ += more;
    return true;
  }
  std::uint64_t committed() const noexcept { return committed_; }

 private:
  std::uint64_t bytes_;
  std::uint64_t committed_ = 0;
};

}  // namespace stria::eager
