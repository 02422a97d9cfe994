// LateReceives: receives that have the beginning of their message, whose sender stands still in the middle of
// it. Progress looks at them until the payload is all there or the sender is gone. Nothing else waits for it.
#pragma once

#include "tag/unexpected_store.hpp"

namespace stria::tag {

/// Threads: the worker's lock.
class LateReceives {
 public:
  LateReceives(UnexpectedStore& store, Activity& activity, const FailPeer& fail) noexcept
      : store_(store), activity_(activity), fail_(fail) {}

  /// The receive has the message, so it is in no queue, and is not cancelled.
  [[gnu::cold, gnu::noinline]] void wait_for_rest(Unexpected& entry, const stria_payload_t& memory,
                                                  Request& request) noexcept;
  /// Ends the receives of the peer whose messages are all there; of a peer that failed the others, too, with
  /// `why`. Returns how many.
  [[gnu::cold, gnu::noinline]] unsigned take(Peer& peer, Status why) noexcept;

 private:
  IntrusiveList<LateRecv> late_;  // of peers in the backlog
  UnexpectedStore& store_;
  Activity& activity_;
  const FailPeer fail_;
};

}  // namespace stria::tag
