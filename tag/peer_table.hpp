// The peers of a worker, by number and by worker id. A peer that is only known, because an endpoint was
// opened and nothing was sent, costs its two lines, a slot here, and what is kept of its address.
#pragma once

#include <cstdint>
#include <vector>

#include "base/stable_array.hpp"
#include "tag/peer.hpp"

namespace stria::tag {

/// Peers are never taken out. Threads: the worker's lock.
class PeerTable {
 public:
  std::uint32_t size() const noexcept { return peers_.size(); }
  Peer& operator[](std::uint32_t index) const noexcept { return peers_[index]; }
  Peer* find(std::uint64_t worker_id) const noexcept;
  /// The peer of that id, new or known. Throws bad_alloc, and then nothing changed.
  Peer& add(std::uint64_t worker_id);

 private:
  /// Where the id is, or would be.
  std::uint32_t& slot_of(std::uint64_t worker_id) noexcept;
  void grow();

  StableArray<Peer, 4> peers_;
  std::vector<std::uint32_t> slots_;  // index + 1, or 0; open addressing, at most three quarters full
};

}  // namespace stria::tag
