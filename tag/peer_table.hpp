// PeerTable: the peers of a worker, by index and by worker id. A peer to which an endpoint was opened and
// nothing was sent costs its two cache lines, a slot of this table, and what is kept of its address.
#pragma once

#include <cstdint>
#include <vector>

#include "base/stable_array.hpp"
#include "tag/peer.hpp"

namespace stria::tag {

/// Peers are never removed. Threads: called with the worker's lock held.
class PeerTable {
 public:
  std::uint32_t size() const noexcept { return peers_.size(); }
  Peer& operator[](std::uint32_t index) const noexcept { return peers_[index]; }
  /// The peer of that worker id; null when it is unknown.
  Peer* find(std::uint64_t worker_id) const noexcept;
  /// The peer of that worker id, new or known. Throws bad_alloc, and then nothing changed.
  Peer& add(std::uint64_t worker_id);

 private:
  /// The slot that the worker id has, or the free one that it would get.
  std::uint32_t& slot_of(std::uint64_t worker_id) noexcept;
  void grow();

  StableArray<Peer, 4> peers_;
  /// Peer index + 1, or 0: free. Open addressing, at most three quarters full.
  std::vector<std::uint32_t> slots_;
};

}  // namespace stria::tag
