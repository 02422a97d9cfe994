// A connection to one peer, as the engines see it, and how far it has come.
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
                   Requester {  // linked while it has sent since the device's last call
 public:
  enum class State : std::uint8_t {
    coming,  ///< the peer is being connected to
    up,
    lost,  ///< its connection was reset, and another is being made
    dying  ///< link_down has been called, or will be
  };
  Link(Shared& shared, Address peer) noexcept;

  // The contract.
  Status eager_send(const transport::Header& header, const transport::Payload& payload) noexcept;
  Status get(const transport::Payload& local, const transport::Key& key, std::uint64_t offset,
             transport::Completion* completion) noexcept;
  Status send_invalidate(const transport::Header& header, const void* payload, std::uint32_t bytes,
                         const transport::Key& key) noexcept;
  void limits(transport::LinkLimits& out) const noexcept;
  bool is_coming() const noexcept { return state_ == State::coming; }

  // The device's.
  const Address& peer() const noexcept { return peer_; }
  State state() const noexcept { return state_; }
  /// It is up, or will be again.
  bool is_there() const noexcept { return state_ == State::up || state_ == State::lost; }
  Token token() const noexcept { return reinterpret_cast<Token>(this); }
  /// Which side has made the connection.
  enum class Maker : std::uint8_t { self, peer };
  /// `socket` carries packets both ways from now on. `ip`: where the peer is. `eager_max`: what it takes.
  void come_up(UniqueFd socket, const Ip& ip, std::uint32_t eager_max, Maker maker) noexcept;
  /// A link of a device to itself: what is sent by one socket is received by the other.
  void come_up(UniqueFd sends, UniqueFd receives) noexcept;
  /// Delivers packets, up to `budget`, and calls the completions of gets.
  Incoming::Outcome receive(unsigned budget) noexcept;
  /// Its connection was reset. Sends and gets wait; bulk connections go on.
  void lose() noexcept;
  /// The peer has made another connection: what the present one has brought is delivered, and then it is
  /// lost.
  void end_connection() noexcept;
  /// Bytes that came over its first connections.
  std::uint64_t received() const noexcept { return incoming_.received(); }
  /// The link goes on over `socket`; `peer_received`: bytes that the peer has got. False: what follows them
  /// is not here any more.
  bool go_on(UniqueFd socket, std::uint64_t peer_received) noexcept;
  bool is_made_by_peer() const noexcept { return made_by_peer_; }
  /// There is something for a bulk connection: takes it, and then as receive().
  Incoming::Outcome receive_bulk(unsigned budget) noexcept;
  /// Sends what waits for others.
  void send_held() noexcept override;
  /// Sends what waits for room, as far as there is some.
  void flush() noexcept;
  /// The peer's system has not answered for the limit.
  bool is_silent(std::uint64_t now) noexcept {
    return state_ == State::up && silence_.lasts(socket_, now, shared_.silent_ms);
  }
  /// Why the link ends when its host is silent, in words.
  std::string silence_text() const;
  /// The same when the system has found it; empty: the peer has ended the connection.
  std::string end_text() const {
    return incoming_.found_silence() || outgoing_.found_silence() ? silence_text() : std::string();
  }
  /// Sends something that means nothing: a connection that is not there any more is reset by it.
  void say_nothing() noexcept;
  /// Memory is given back that what has been sent needs no more, and bulk connections end that go another way
  /// than this one, which is silent.
  void tidy(std::uint64_t now) noexcept {
    if (state_ == State::up) outgoing_.forget_acknowledged(socket_);
    if (bulk_ != nullptr) bulk_->end_silent(now, shared_.silent_ms);
  }
  enum class Finish : std::uint8_t { waits, over };
  /// Sends what waits, and then the end of it; over: the peer's system has all of it, or will get no more. A
  /// connection that was reset is lost.
  Finish finish() noexcept;
  /// Nothing is sent or received any more.
  void cut() noexcept;
  /// Ends the gets of a link that is cut.
  void end_gets(Status why) noexcept {
    if (bulk_ != nullptr) bulk_->end_gets(why);
  }

  // Its bulk connections, for Peers.
  /// Where the peer has answered.
  const Ip& peer_ip() const noexcept { return peer_ip_; }
  bool can_have_bulk() const noexcept { return is_there() && !no_bulk_; }
  /// Made at the first call. Null: there is no memory.
  Bulk* bulk() noexcept;
  /// Bulk connections are of no use: the peer is told, and gets are refused from now on. Makes upcalls.
  void do_without_bulk() noexcept override;
  /// They are there, and nobody needs them now.
  bool has_idle_bulk() const noexcept {
    return is_there() && bulk_ != nullptr && !peer_wants_bulk_ && bulk_->is_idle();
  }

  void* cookie = nullptr;
  std::unique_ptr<Dial> dial;   ///< while the link is coming
  bool is_ready = false;        ///< it is in the list of those that have packets left
  std::uint16_t fruitless = 0;  ///< looks at the socket in a row that found nothing

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

  Shared& shared_;
  const Address peer_;
  State state_ = State::coming;
  bool waits_for_room_ = false;
  bool has_finished_ = false;
  bool is_replaced_ = false;  // by another connection, which waits at the door
  bool made_by_peer_ = false;
  bool wants_bulk_ = false;       // the peer, which makes them, has been asked for them
  bool peer_wants_bulk_ = false;  // and has asked, but requested nothing over them yet
  bool no_bulk_ = false;          // none can be made
  bool owes_no_bulk_ = false;     // the peer is to be told that
  std::uint32_t eager_max_;
  std::uint32_t one_way_ns_ = 0;  // as the system has measured it by the handshake
  UniqueFd socket_;
  UniqueFd receives_;  // empty, but for a link to the own device
  Silence silence_;
  Outgoing outgoing_;
  std::uint64_t sent_ns_ = 0;  // when the last record was sent that had no deadline to join
  std::uint8_t at_once_ = 0;   // records that went so since the device's last call, or since a while
  Incoming incoming_;
  std::unique_ptr<Bulk> bulk_;  // null until it is needed
  Ip peer_ip_;
  std::string path_;
};

}  // namespace stria::tcp
