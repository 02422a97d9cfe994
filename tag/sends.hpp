// Sends: how a message leaves. It goes at once while the receiver's credit lasts, is announced otherwise, and
// waits behind earlier messages to the same peer when there is no room, so that sequence numbers are given
// in the order of the calls. Which messages are announced (rndv/) and not sent eagerly (eager/) is planned by
// eager_or_announced.hpp.
#pragma once

#include <cstdint>

#include "eager/send.hpp"
#include "rndv/engine.hpp"
#include "tag/completion.hpp"
#include "tag/peers.hpp"
#include "tag/receives.hpp"

namespace stria::tag {

/// Threads: the worker's lock.
class Sends {
 public:
  /// `receives` gets the messages of the worker to itself.
  Sends(const Settings& settings, Activity& activity, Peers& peers, rndv::Engine& rndv,
        Receives& receives) noexcept
      : overlaps_packing_(settings.overlaps_packing),
        activity_(activity),
        peers_(peers),
        rndv_(rndv),
        receives_(receives) {}

  /// Sends a message at once when it needs no second look and none waits before it: contiguous, plain, and
  /// shorter than `below`. False: nothing happened.
  [[gnu::always_inline]] bool try_inline(Peer& peer, const stria_send_t& send, std::uint32_t below) noexcept {
    return peer.pending.empty() && sender_.try_inline(peer, send, below);
  }
  Status send(Peer& peer, const stria_send_t& send, stria_request_t* request) noexcept;

  /// Sends what waits for the peer, and adds how many moved. False: something waits still, or the peer
  /// failed.
  bool flush(Peer& peer, unsigned& moved) noexcept;
  /// The peer failed: ends what waits for it.
  void fail(Peer& peer, Status why) noexcept;
  /// Sends that wait for room, in order.
  using Waiting = IntrusiveQueue<rndv::Operation>;
  /// What waits for a peer whose link went down before any message, for another link or for its end.
  void take_back(Peer& peer, Waiting& waiting) noexcept;
  static void give_back(Peer& peer, Waiting& waiting) noexcept;
  static void end(Waiting& waiting, Status why) noexcept;
  void counters(stria_counters_t& out) const noexcept;

 private:
  Status start(Peer& peer, Request& request) noexcept;
  Status send_eager(Peer& peer, const stria_header_t& header, const stria_payload_t& memory) noexcept;
  Status send_immediate(Peer& peer, const stria_send_t& send, const stria_payload_t& memory) noexcept;
  [[gnu::noinline]] Status send_later(Peer& peer, const stria_send_t& send, const stria_payload_t& memory,
                                      bool full, stria_request_t* request) noexcept;
  Status send_synchronous(Peer& peer, Request& request) noexcept;
  // own.cpp
  bool send_own(Peer& peer, const stria_send_t& send, const stria_payload_t& memory) noexcept;
  bool copy_own(Peer& peer, const stria_send_t& send, const stria_payload_t& memory) noexcept;

  eager::Sender sender_;
  const bool overlaps_packing_;  // announces what packs_long(), although it is short enough to go eagerly
  unsigned own_messages_ = 0;
  std::uint64_t announced_ = 0;
  std::uint64_t copied_own_ = 0;
  Activity& activity_;
  Peers& peers_;
  rndv::Engine& rndv_;
  Receives& receives_;
};

}  // namespace stria::tag
