// RemoteAccess: puts, gets and atomics on the memory of peers, performed by a provider or by the peer's
// engine; and the serving of those that peers ask this worker's engine for. An operation that finds no room
// waits in a queue of its peer, in the order of the calls; it does not go another way.
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

/// Threads: called with the worker's lock held.
class RemoteAccess {
 public:
  RemoteAccess(const Devices& devices, Activity& activity, Peers& peers, rndv::Engine& rndv,
               const Regions& regions) noexcept;

  /// Finds the parts of a key that the devices of this worker use.
  void take_up(RemoteKey& key) const noexcept;
  /// Starts a put or get. ok: ended; in_progress: `request` will end.
  Status rma(RequestKind kind, Peer& peer, const stria_rma_t& rma, stria_request_t* request) noexcept;
  /// Starts an atomic. ok: ended; in_progress: `request` will end.
  Status atomic(Peer& peer, const stria_atomic_t& atomic, stria_request_t* request) noexcept;

  // Packets of peers. False, misfit: the packet does not fit its kind.
  [[nodiscard]] bool serve_rma(Peer& peer, const stria_packet_t& packet, bool is_get) noexcept;
  enum class Served : std::uint8_t { well, misfit, no_memory };
  [[nodiscard]] Served serve_atomic(Peer& peer, const stria_packet_t& packet) noexcept;
  [[nodiscard]] bool on_word(Peer& peer, const stria_packet_t& packet) noexcept {
    return atomics_.on_word(peer.link, packet);
  }

  /// Sends the answers, then starts the operations, that wait for the peer. Returns how many moved; callbacks
  /// may end the peer.
  unsigned flush(Peer& peer) noexcept;
  /// The rendezvous engine ended a put or get that it was asked for.
  void engine_ended() noexcept { --rma_in_flight_; }
  /// No operation of this worker is under way.
  bool idle() const noexcept { return rma_in_flight_ == 0 && atomics_.idle(); }
  /// Puts, gets and atomics that wait for room, in order.
  using Waiting = IntrusiveQueue<ListNode>;
  /// Moves the operations that wait for the peer to `waiting`. The peer's link went down before any message;
  /// give_back() or end() follows.
  static void take_back(Peer& peer, Waiting& waiting) noexcept;
  /// Starts the operations of `waiting` again, for a peer that has another link now. Their keys were for the
  /// earlier link, so the peer's engine is asked; an atomic that only an adapter may perform ends with
  /// UNSUPPORTED.
  void give_back(Peer& peer, Waiting& waiting) noexcept;
  /// Ends the operations of `waiting`.
  void end(Waiting& waiting, Status why) noexcept;
  /// The peer failed: ends the operations that wait for it, and the atomics that its engine was asked for. An
  /// operation that a provider has is ended by the provider.
  void fail(Peer& peer, Status why) noexcept;
  /// Ends the operations that providers had. To be called only after the providers are closed, which then use
  /// no memory any more.
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
