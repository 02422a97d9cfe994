// One link: the packets that go to a peer by a reliable connection, and the state of that connection.
//
//   connecting ── attach ──► attached ── greeting ──► packets go ── Ends::fail ──► dying ──► link_down
//       └──────────────── no connection comes ─────────────────────────────────────►
//
// What is posted to its queue pair is in send_queue.hpp, how many packets may be in credits.hpp; gets, puts
// and atomics are in moves.hpp, keys in key_maker.hpp.
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

  // Its connection.
  /// The link uses the queue pair of this connection from here on. Until then sends answer no_resource.
  void attach(Connection& connection) noexcept;
  bool is_attached() const noexcept { return connection_ != nullptr; }
  bool is_coming() const noexcept { return !is_attached(); }       // connect then answers IN_PROGRESS
  Connection* connection() const noexcept { return connection_; }  ///< null: none yet
  LinkNumber number() const noexcept { return connection_->number; }
  std::uint64_t worker() const noexcept { return worker_; }
  SendQueue& queue() noexcept { return queue_; }
  const SendQueue& queue() const noexcept { return queue_; }

  // A connection of a worker to itself has two links: by the near end it sends, out of the far end, the echo,
  // its packets come.
  void set_echo(Link& echo) noexcept;
  Link& responder() noexcept { return echo_ != nullptr ? *echo_ : *this; }
  bool is_echo() const noexcept { return origin_ != nullptr; }
  Link& origin() noexcept { return origin_ != nullptr ? *origin_ : *this; }
  Link* other_end() const noexcept { return echo_ != nullptr ? echo_ : origin_; }  ///< null: there is none
  /// The other end knows it no more.
  void part() noexcept;

  // Packets.
  /// Packets may be sent: the greeting went, or came.
  bool ready() const noexcept { return greeting_.has_passed(); }
  bool has_to_greet() const noexcept { return is_attached() && connection_->asked && !ready(); }
  bool greet() noexcept;
  /// Greets a peer that has not been heard of since, where a greeting may be lost.
  void greet_again(std::uint64_t now_ms) noexcept;
  Credits& credits() noexcept { return credits_; }
  Prefix next_prefix(PacketKind kind) noexcept { return credits_.prefix(kind, peer_link_); }
  /// What the prefix of an arrived packet says. False: no packet that the peer may send.
  bool take(const Prefix& prefix) noexcept;
  bool return_credits() noexcept;  ///< false: there was no room, call again
  /// Posts something that the peer's adapter has to answer, if nothing is under way. False: what is under way
  /// has not moved for longer than all repetitions take, or a greeting did not come.
  bool probe(std::uint64_t now_ms) noexcept;

  // For those that look after links: Links, Peers, Ends.
  void* cookie = nullptr;
  std::size_t place = 0;   ///< among all links
  bool announced = false;  ///< the worker has a cookie for it
  bool dying = false;
  bool broken = false;  ///< its queue pair is known to be in error: all of it will be flushed
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
  Link* echo_ = nullptr;
  Link* origin_ = nullptr;
  std::uint32_t peer_link_ = 0;
  Credits credits_;
  Greeting greeting_;
  Silence silence_;
  SendQueue queue_;
};

}  // namespace stria::verbs
