// One link: the packets that go to a peer by a reliable connection, and the state of that connection.
//
//   connecting ── attach ──► attached ── greeting ──► packets go ── Ends::fail ──► dying ──► link_down
//       └──────────────── no connection comes ─────────────────────────────────────►
//
// send_queue.hpp has what is posted to the link's queue pair, credits.hpp how many packets may be under way,
// moves.hpp gets, puts and atomics, and key_maker.hpp keys.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/contract.hpp"
#include "transport/verbs/connection.hpp"
#include "transport/verbs/credits.hpp"
#include "transport/verbs/greeting.hpp"
#include "transport/verbs/keys.hpp"
#include "transport/verbs/packets.hpp"
#include "transport/verbs/send_queue.hpp"
#include "transport/verbs/shared.hpp"
#include "transport/verbs/silence.hpp"

namespace stria::verbs {

class Link {
 public:
  Link(Shared& shared, std::uint64_t worker) noexcept;

  // The contract.
  Status pio_send(const transport::Header& header, const void* payload, std::uint32_t bytes) noexcept;
  Status eager_send(const transport::Header& header, const transport::Payload& payload) noexcept;
  Status send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                         const transport::Key& key) noexcept;
  Status get(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
             transport::Completion* completion) noexcept;
  Status put(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
             transport::Completion* completion) noexcept;
  Status get_finish(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
                    const transport::Header& header, transport::Completion* completion) noexcept;
  Status atomic(const transport::Atomic& atomic, const transport::Key& key,
                transport::Completion* completion) noexcept;
  void limits(transport::LinkLimits& out) noexcept;

  // The connection.
  /// Gives the link its connection, whose queue pair it uses from now on. Before, sends answer no_resource.
  void attach(Connection& connection) noexcept;
  bool is_attached() const noexcept { return connection_ != nullptr; }
  bool is_coming() const noexcept { return !is_attached(); }       // connect then answers IN_PROGRESS
  Connection* connection() const noexcept { return connection_; }  ///< null: none yet
  LinkNumber number() const noexcept { return connection_->number; }
  std::uint64_t worker() const noexcept { return worker_; }
  SendQueue& queue() noexcept { return queue_; }
  const SendQueue& queue() const noexcept { return queue_; }

  // A connection of a worker to itself has two links: the near end, by which the worker sends, and the echo,
  // the far end, by which those packets arrive.
  void set_echo(Link& echo) noexcept;
  /// The link whose queue pair answers the accesses of this link's peer: windows are bound there.
  Link& responder() noexcept { return echo_ != nullptr ? *echo_ : *this; }
  bool is_echo() const noexcept { return origin_ != nullptr; }
  /// The link whose cookie packets that arrive by this link are delivered with.
  Link& origin() noexcept { return origin_ != nullptr ? *origin_ : *this; }
  /// Of a connection of a worker to itself; else null.
  Link* other_end() const noexcept { return echo_ != nullptr ? echo_ : origin_; }
  /// Separates this link from its other end, if there is one.
  void part() noexcept;

  // Packets.
  /// Whether packets may be sent: the greeting was sent (active side) or received (passive side).
  bool ready() const noexcept { return greeting_.has_passed(); }
  bool has_to_greet() const noexcept { return is_attached() && connection_->asked && !ready(); }
  bool greet() noexcept;  ///< false: not now
  /// Sends the greeting again where it may be lost (iWARP) and no packet has come from the peer since.
  void greet_again(std::uint64_t now_ms) noexcept;
  Credits& credits() noexcept { return credits_; }
  Prefix next_prefix(PacketKind kind) noexcept { return credits_.prefix(kind, peer_link_); }
  /// Takes credits and greeting from the prefix of a packet that arrived. False: the peer may not send that.
  bool take(const Prefix& prefix) noexcept;
  /// Sends a packet of credits alone, if one is due. False: there was no room, call again.
  bool return_credits() noexcept;
  /// Posts a request that the peer's adapter has to answer (not on iWARP), if nothing is under way or nothing
  /// completed since the last look. False: the peer is to be given up, because what is under way has not
  /// completed for longer than all retransmissions take, or because its greeting did not come.
  bool probe(std::uint64_t now_ms) noexcept;

  // For the classes that keep links: Links, Peers, Ends.
  void* cookie = nullptr;
  std::size_t place = 0;   ///< index in Links::all()
  bool announced = false;  ///< the worker knows the link, by its cookie
  bool dying = false;      ///< its end has begun (ends.hpp)
  bool broken = false;     ///< its queue pair is known to be in error: what is posted there will be flushed
  Status why = Status::ok;
  std::uint64_t dying_since_ms = 0;

 private:
  Status can_send() noexcept;
  Status send_short(PacketKind kind, const transport::Header& header, const void* payload,
                    std::uint32_t bytes, const KeyContent* closes) noexcept;
  Status send_slot(PacketKind kind, const transport::Header& header, const transport::Payload& payload,
                   const KeyContent* closes) noexcept;
  Status send_prefix(PacketKind kind) noexcept;

  Shared& shared_;
  const std::uint64_t worker_;
  Connection* connection_ = nullptr;  // its queue pair is ready
  Link* echo_ = nullptr;              // of the near end
  Link* origin_ = nullptr;            // of the echo: the near end
  std::uint32_t peer_link_ = 0;       // the peer's number for the link
  Credits credits_;
  Greeting greeting_;
  Silence silence_;
  SendQueue queue_;
};

}  // namespace stria::verbs
