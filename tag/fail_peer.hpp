// FailPeer: how an object of a worker ends everything that names a peer. Each object has something of it, so
// the worker does it (Worker::fail_peer); an object that finds a peer broken has this hook, and not the
// worker.
#pragma once

#include "base/status.hpp"
#include "tag/peer.hpp"

namespace stria::tag {

struct FailPeer {
  void* self;
  void (*fail)(void* self, Peer& peer, Status why) noexcept;

  /// Nothing of the peer is left afterwards but what came whole. Callbacks run inside.
  void operator()(Peer& peer, Status why) const noexcept { fail(self, peer, why); }
};

}  // namespace stria::tag
