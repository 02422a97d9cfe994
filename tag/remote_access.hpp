// RemoteAccess: puts, gets and atomics on the memory of peers, by their providers or by their engines, and
// the serving of those that peers ask this worker's engine for. A full queue means waiting, never another
// way: what has no room waits in a queue of its peer, in the order of the calls.
#pragma once

#include <cstdint>

#include "rndv/atomics.hpp"
#include "rndv/engine.hpp"
#include "tag/completion.hpp"
#include "tag/memory.hpp"
#include "tag/peers.hpp"
#include "tag/regions.hpp"
#include "tag/remote_key.hpp"

namespace stria::tag {

/// Threads: the worker's lock.
class RemoteAccess {
 public:
  RemoteAccess(const Devices& devices, Activity& activity, Peers& peers, rndv::Engine& rndv,
               const Regions& regions) noexcept;

  /// Finds the parts of a key for the devices of this worker.
  void take_up(RemoteKey& key) const noexcept;
  Status rma(RequestKind kind, Peer& peer, const stria_rma_t& rma, stria_request_t* request) noexcept;
  Status atomic(Peer& peer, const stria_atomic_t& atomic, stria_request_t* request) noexcept;

  // Packets of peers. False: it does not fit its kind.
  [[nodiscard]] bool serve_rma(Peer& peer, const stria_packet_t& packet, bool is_get) noexcept;
  enum class Served : std::uint8_t { well, misfit, no_memory };
  [[nodiscard]] Served serve_atomic(Peer& peer, const stria_packet_t& packet) noexcept;
  [[nodiscard]] bool on_word(Peer& peer, const stria_packet_t& packet) noexcept {
    return atomics_.on_word(peer.link, packet);
  }

  /// Tries what waits for the peer, answers first. Returns how many moved; callbacks may end the peer.
  unsigned flush(Peer& peer) noexcept;
  /// The rendezvous engine ended a put or get that it was asked for.
  void engine_ended() noexcept { --rma_in_flight_; }
  /// Nothing is under way.
  bool idle() const noexcept { return rma_in_flight_ == 0 && atomics_.idle(); }
  /// Puts, gets and atomics that wait for room, in order.
  using Waiting = IntrusiveQueue<ListNode>;
  /// What waits for a peer whose link went down before any message, for another link or for its end.
  static void take_back(Peer& peer, Waiting& waiting) noexcept;
  /// Their keys were for the other link, so the peer's engine is asked; an atomic that only an adapter may
  /// perform ends with UNSUPPORTED.
  void give_back(Peer& peer, Waiting& waiting) noexcept;
  void end(Waiting& waiting, Status why) noexcept;
  /// The peer failed: ends what is under way to it, but for what a provider has.
  void fail(Peer& peer, Status why) noexcept;
  /// The providers are closed, and let go of all memory: ends what they had.
  void end_all(Status why) noexcept;

 private:
  // one_sided.cpp
  const stria_provider_key_t& key_part(const RemoteKey& key, const Peer& peer) const noexcept;
  static void on_rma_done(stria_completion_t* completion, stria_status_t status) noexcept;
  Status try_rma(Request& request, const stria_provider_key_t& key) noexcept;
  void end_rma(Request& request, Status answered) noexcept;
  void ask_peer(Request& request) noexcept;
  void wait_for_room(Peer& peer, ListNode& op) noexcept;
  unsigned flush_one_sided(Peer& peer) noexcept;
  // atomic.cpp
  Status start_atomic(Peer& peer, rndv::AtomicOp& op, const RemoteKey& key) noexcept;
  Status try_atomic(Peer& peer, rndv::AtomicOp& op) noexcept;
  unsigned flush_answers(Peer& peer) noexcept;
  static void on_atomic_ended(void* self, rndv::AtomicOp& op, Status outcome) noexcept;

  const Devices& devices_;
  Activity& activity_;
  Peers& peers_;
  rndv::Engine& rndv_;
  const Regions& regions_;
  rndv::Atomics atomics_;
  std::uint64_t rma_in_flight_ = 0;    // puts and gets begun and not ended, also those that wait
  IntrusiveList<RmaOp> provider_rma_;  // puts and gets in the hands of a provider
};

}  // namespace stria::tag
