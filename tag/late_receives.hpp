// LateReceives: receives that have only the beginning of their message, because the sender of the message
// stands still while it writes it. Each progress() looks whether the payload is all there, or the sender
// gone. No other message waits meanwhile.
#pragma once

#include "tag/unexpected_store.hpp"

namespace stria::tag {

/// Threads: called with the worker's lock held.
class LateReceives {
 public:
  LateReceives(UnexpectedStore& store, Activity& activity, const FailPeer& fail) noexcept
      : store_(store), activity_(activity), fail_(fail) {}

  /// Has the receive wait for the rest of its message, `entry`. The receive has left the posted queue, and is
  /// not cancelled any more.
  [[gnu::cold, gnu::noinline]] void wait_for_rest(Unexpected& entry, const stria_payload_t& memory,
                                                  Request& request) noexcept;
  /// Ends those receives of the peer whose messages are all there; when the peer has failed, also its other
  /// receives, with `why`. Returns how many ended.
  [[gnu::cold, gnu::noinline]] unsigned take(Peer& peer, Status why) noexcept;

 private:
  IntrusiveList<LateRecv> late_;  // their peers are in the backlog
  UnexpectedStore& store_;
  Activity& activity_;
  const FailPeer fail_;
};

}  // namespace stria::tag
