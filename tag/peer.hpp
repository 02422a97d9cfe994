// Peer: what a worker knows of one remote worker, whoever spoke first. Endpoints point to it. Jobs are large,
// and most of their processes never talk to each other: a peer is two lines, and what only few of them need
// is kept elsewhere, by peer index.
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

/// In the worker's backlog list while something waits to be sent to it. The eager path knows the flow alone.
struct alignas(kCacheLine) Peer : ListNode, eager::Flow {
  enum class State : std::uint8_t { unconnected, up, failed };

  // One line for what a send needs of the link, the other for what a send and a delivery change: the bases
  // fill the first and begin the second.
  State state = State::unconnected;
  bool has_early = false;   ///< EarlyMessages has some that came before their turn
  std::uint8_t device = 0;  ///< whose link it is, while up
  bool low_latency : 1 = false;
  bool window_due : 1 = false;     ///< it came to us while an endpoint wants a window: connect once more
  bool answers_due : 1 = false;    ///< answers to its atomics wait for room
  bool window_wanted : 1 = false;  ///< an endpoint wants a window, and there was none
  bool awaited : 1 = false;        ///< not connected, and a receive or a probe named it
  bool has_late : 1 = false;       ///< receives wait for the rest of messages of its that were kept
  bool unmet : 1 = false;          ///< awaited, and could not be connected to when that was tried last
  std::uint32_t index = 0;
  IntrusiveQueue<rndv::Operation> pending;  ///< sends in order, waiting for room
  IntrusiveQueue<ListNode> one_sided;       ///< puts, gets and atomics in order, waiting for room
  std::uint64_t worker_id = 0;
  KeptAddress address = nullptr;  ///< null when the peer came to us
};
static_assert(sizeof(Peer) == 2 * kCacheLine, "docs/user-library.md says what an idle peer costs");

/// The index of what stands for peers that there was no memory for.
inline constexpr std::uint32_t kNobody = ~std::uint32_t{0};

/// The peer whose link it is; every link that a worker gives to its engines is a peer's.
inline Peer& peer_of(const transport::LinkRef& link) noexcept {
  static_assert(offsetof(eager::Flow, link) == 0);
  auto& flow = reinterpret_cast<eager::Flow&>(const_cast<transport::LinkRef&>(link));
  auto& peer = static_cast<Peer&>(flow);
  STRIA_ASSERT(&peer.link == &link, "a flow begins with its link");
  return peer;
}

}  // namespace stria::tag
