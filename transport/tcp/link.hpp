// A link to one peer: its first connection, its bulk connections, and how far it has come.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/intrusive_list.hpp"
#include "transport/contract.hpp"
#include "transport/tcp/address.hpp"
#include "transport/tcp/bulk.hpp"
#include "transport/tcp/dial.hpp"
#include "transport/tcp/incoming.hpp"
#include "transport/tcp/outgoing.hpp"
#include "transport/tcp/shared.hpp"
#include "transport/tcp/silence.hpp"

namespace stria::tcp {

class Link final : public ListNode,
                   Control,
                   Requester {  // in Shared::talking while the link has sent since the device's last call
 public:
  enum class State : std::uint8_t {
    coming,  ///< the first connection is being made
    up,
    lost,  ///< the first connection was reset, and another is being made
    dying  ///< the link has ended: link_down has been called, or will be
  };
  Link(Shared& shared, Address peer) noexcept;

  // The provider contract.
  Status eager_send(const transport::Header& header, const transport::Payload& payload) noexcept;
  Status get(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
             transport::Completion* completion) noexcept;
  Status send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                         const transport::Key& key) noexcept;
  void limits(transport::LinkLimits& out) const noexcept;
  bool is_coming() const noexcept { return state_ == State::coming; }

  // For the device.
  const Address& peer() const noexcept { return peer_; }
  State state() const noexcept { return state_; }
  /// Whether the link is up, or is to be up again.
  bool is_there() const noexcept { return state_ == State::up || state_ == State::lost; }
  Token token() const noexcept { return reinterpret_cast<Token>(this); }
  /// The side that made the first connection.
  enum class Maker : std::uint8_t { self, peer };
  /// The link is up: `socket` carries packets both ways from now on. `ip`: the peer's address. `eager_max`:
  /// most payload bytes of a packet to the peer.
  void come_up(UniqueFd socket, const Ip& ip, std::uint32_t eager_max, Maker maker) noexcept;
  /// A link of a device to itself is up: what is sent by one socket is received by the other.
  void come_up(UniqueFd sends, UniqueFd receives) noexcept;
  /// Delivers packets and takes pieces of gets, up to `budget` together. Calls completions.
  Incoming::Outcome receive(unsigned budget) noexcept;
  /// Gives up the first connection, which was reset. Until another one is there, sends and new gets answer
  /// NO_RESOURCE; bulk connections go on.
  void lose() noexcept;
  /// Shuts down the first connection, because the peer has made another. receive() delivers what it has
  /// brought, and then answers `lost`.
  void end_connection() noexcept;
  /// Bytes received over all first connections of the link.
  std::uint64_t received() const noexcept { return incoming_.received(); }
  /// Continues a lost link over `socket`. `peer_received`: bytes of this side's stream that the peer has
  /// received. False: the bytes behind them cannot be sent once more.
  bool go_on(UniqueFd socket, std::uint64_t peer_received) noexcept;
  bool is_made_by_peer() const noexcept { return made_by_peer_; }
  /// Takes pieces of all bulk connections, up to `budget`. Calls completions.
  Incoming::Outcome receive_bulk(unsigned budget) noexcept;
  /// Sends the records that wait for others.
  void send_held() noexcept override;
  /// Goes on with all that waits for room, as far as there is room.
  void flush() noexcept;
  /// Whether the peer's system has acknowledged nothing for the limit. `now`: of now_ms().
  bool is_silent(std::uint64_t now) noexcept {
    return state_ == State::up && silence_.lasts(socket_, now, shared_.silent_ms);
  }
  /// In words: the link ends because the peer's host is silent.
  std::string silence_text() const;
  /// In words: why a link ends of which receive() answers `ended`; empty: the peer has ended the connection.
  std::string end_text() const {
    return incoming_.found_silence() || outgoing_.found_silence() ? silence_text() : std::string();
  }
  /// Sends a record that means nothing. If the peer has lost the connection, its system answers with a reset.
  void say_nothing() noexcept;
  /// Frees the memory of sent bytes that are acknowledged. Ends silent bulk connections, which may go another
  /// way than the first connection. `now`: of now_ms().
  void tidy(std::uint64_t now) noexcept {
    if (state_ == State::up) outgoing_.forget_acknowledged(socket_);
    if (bulk_ != nullptr) bulk_->end_silent(now, shared_.silent_ms);
  }
  enum class Finish : std::uint8_t { waits, over };
  /// Sends what waits, and then shuts down the sending side. `over`: the peer's system has acknowledged all
  /// of it, or nothing more can be sent. A connection that was reset makes the link lost.
  Finish finish() noexcept;
  /// Closes all connections, and ends the link's keys: nothing is sent or received any more.
  void cut() noexcept;
  /// Ends all gets. Only after the bulk connections were cut.
  void end_gets(Status why) noexcept {
    if (bulk_ != nullptr) bulk_->end_gets(why);
  }

  // Bulk connections, for Peers, BulkDials and Links.
  /// The address where the peer was reached, or from which it has connected.
  const Ip& peer_ip() const noexcept { return peer_ip_; }
  bool can_have_bulk() const noexcept { return is_there() && !no_bulk_; }
  /// The bulk connections, made at the first call. Null: there is no memory.
  Bulk* bulk() noexcept;
  /// Gives up bulk connections: the peer is told, and gets are refused from now on. Makes upcalls.
  void do_without_bulk() noexcept override;
  /// Whether bulk connections are there that neither side needs at present.
  bool has_idle_bulk() const noexcept {
    return is_there() && bulk_ != nullptr && !peer_wants_bulk_ && bulk_->is_idle();
  }

  void* cookie = nullptr;
  std::unique_ptr<Dial> dial;   ///< while this side is making the first connection
  bool is_ready = false;        ///< the link is in the Receiver's list of links that have packets left
  std::uint16_t fruitless = 0;  ///< reads in a row that brought nothing

 private:
  bool handle(RecordKind kind, std::span<const std::byte> payload) noexcept override;
  Status send_control(RecordKind kind, std::span<const std::byte> payload) noexcept override;
  bool hold_control(RecordKind kind, std::span<const std::byte> payload) noexcept override;
  void lane_has_ended() noexcept override;
  Status send_short(RecordKind kind, const transport::Header& header, std::span<const std::byte> first,
                    std::span<const std::byte> second) noexcept;
  Outgoing::When when() noexcept;
  bool take(const PieceRequest& request) noexcept;
  bool lacks_lanes() const noexcept;
  void want_lanes() noexcept;
  void refuse_gets() noexcept;
  void greet() noexcept;
  void watch() noexcept;
  void wait_for_room(bool waits) noexcept;
  void note_refusal() noexcept;

  Shared& shared_;
  const Address peer_;
  State state_ = State::coming;
  bool waits_for_room_ = false;
  bool has_finished_ = false;
  bool is_replaced_ = false;  // end_connection() was called
  bool made_by_peer_ = false;
  bool wants_bulk_ = false;  // the peer makes the bulk connections, and was asked for them
  // The peer has asked for bulk connections, and has requested nothing over them yet.
  bool peer_wants_bulk_ = false;
  bool no_bulk_ = false;       // no bulk connection can be made, so gets are refused
  bool owes_no_bulk_ = false;  // the peer is to be told of no_bulk_, and there was no room
  bool owes_word_ = false;     // say_nothing() is to send its record, and there was no room
  std::uint32_t eager_max_;
  std::uint32_t one_way_ns_ = 0;  // half of TCP's round trip when the link came up; 0: not known
  UniqueFd socket_;
  UniqueFd receives_;  // only of a link to the device itself: the socket to read from
  Silence silence_;
  Outgoing outgoing_;
  std::uint64_t sent_ns_ = 0;  // when when() last read the clock, of now_ns()
  std::uint8_t at_once_ = 0;   // records sent at once since the device's last call, or since a pause
  Incoming incoming_;
  std::unique_ptr<Bulk> bulk_;  // null until it is needed
  Ip peer_ip_;
  std::string path_;
};

}  // namespace stria::tcp
