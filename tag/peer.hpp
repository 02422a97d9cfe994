// Peer: what a worker knows of one remote worker, whichever of the two connected first. Endpoints point to
// it. Jobs are large, and most of their processes never talk to each other: a Peer is two cache lines, and
// what only few peers need is kept elsewhere, by peer index.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"
#include "base/cache_line.hpp"
#include "base/intrusive_list.hpp"
#include "base/intrusive_queue.hpp"
#include "eager/flow.hpp"
#include "rndv/operation.hpp"
#include "tag/address_store.hpp"

namespace stria::tag {

/// A Peer is in the worker's backlog while something waits to be sent to it. The eager path (eager/) sees
/// only its base class Flow.
struct alignas(kCacheLine) Peer : ListNode, eager::Flow {
  enum class State : std::uint8_t { unconnected, up, failed };

  // One cache line has what a send needs of the link, the other what a send and a delivery change: the base
  // classes fill the first and begin the second.
  State state = State::unconnected;
  bool has_early = false;          ///< EarlyMessages has packets of the peer that came before their turn
  std::uint8_t device = 0;         ///< number of the device that has the main link, while up
  bool low_latency : 1 = false;    ///< an endpoint to the peer is of the class low latency
  bool window_due : 1 = false;     ///< the peer connected, and an endpoint wants a window: connect once more
  bool answers_due : 1 = false;    ///< answers to the peer's atomics wait for room
  bool window_wanted : 1 = false;  ///< an endpoint wants a window, and the link has none
  bool awaited : 1 = false;        ///< not connected, and a receive or a probe named it
  bool has_late : 1 = false;       ///< receives wait for the rest of the peer's messages (LateReceives)
  bool unmet : 1 = false;          ///< awaited, and the last attempt to connect to the peer failed
  std::uint32_t index = 0;
  IntrusiveQueue<rndv::Operation> pending;  ///< sends in order, waiting for room
  IntrusiveQueue<ListNode> one_sided;       ///< puts, gets and atomics in order, waiting for room
  std::uint64_t worker_id = 0;
  KeptAddress address = nullptr;  ///< null: no endpoint was opened to the peer, which connected itself
};
static_assert(sizeof(Peer) == 2 * kCacheLine, "docs/user-library.md says what an idle peer costs");

/// The index of the Peer object that stands for all peers for which there was no memory.
inline constexpr std::uint32_t kNobody = ~std::uint32_t{0};

/// The peer whose main link this is; every main link that a worker gives to its engines is a member of a
/// Peer.
inline Peer& peer_of(const transport::LinkRef& link) noexcept {
  static_assert(offsetof(eager::Flow, link) == 0);
  auto& flow = reinterpret_cast<eager::Flow&>(const_cast<transport::LinkRef&>(link));
  auto& peer = static_cast<Peer&>(flow);
  STRIA_ASSERT(&peer.link == &link, "a flow begins with its link");
  return peer;
}

}  // namespace stria::tag
