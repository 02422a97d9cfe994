// FailPeer: the hook by which a part of a worker that finds a peer broken ends everything that names the
// peer. Each part may have something that names it, so the worker does the work (Worker::fail_peer); the
// parts have this hook, and do not know the worker.
#pragma once

#include "base/status.hpp"
#include "tag/peer.hpp"

namespace stria::tag {

struct FailPeer {
  void* self;
  void (*fail)(void* self, Peer& peer, Status why) noexcept;

  /// Fails the peer. Afterwards nothing of the peer is left but messages that came whole. Callbacks run
  /// inside.
  void operator()(Peer& peer, Status why) const noexcept { fail(self, peer, why); }
};

}  // namespace stria::tag
