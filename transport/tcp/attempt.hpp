// One connection that this device makes to one address of a peer: the dialling side of the handshake.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/fd.hpp"
#include "transport/tcp/handshake.hpp"
#include "transport/tcp/socket.hpp"

namespace stria::tcp {

class Attempt {
 public:
  /// `purpose` and `received`: as in Hello. The attempt may have ended at once.
  Attempt(const Handshake& handshake, const Address& peer, const Route& route, std::uint64_t now,
          std::uint32_t purpose = kForPackets, std::uint64_t received = 0) noexcept;

  enum class State : std::uint8_t {
    going,
    welcome,  ///< the peer is there, and packets may follow
    linked,   ///< it is there, and has another connection to this device
    ended     ///< why() says why
  };
  /// Goes on as far as it can without waiting.
  State advance(const Handshake& handshake, std::uint64_t now) noexcept;
  State state() const noexcept { return state_; }
  /// The port of the peer's host refuses connections.
  bool was_refused() const noexcept { return refused_; }
  /// The peer is there, and has said that it is being closed, or that the link has ended.
  bool was_turned_away() const noexcept;
  /// As in Decision, of an attempt that is welcome.
  std::uint64_t received() const noexcept { return decision_.received; }
  /// The peer's host has taken the connection.
  bool has_reached() const noexcept { return state_ == State::going && turn_ != Turn::hello; }
  /// Who listens there has accepted the connection, and closed it.
  bool was_hung_up_on() const noexcept;
  /// No descriptor was left for it.
  bool lacked_descriptor() const noexcept { return state_ == State::ended && lacks_descriptor(error_); }
  const Route& route() const noexcept { return route_; }
  std::string why() const;
  const UniqueFd& socket() const noexcept { return socket_; }
  UniqueFd take_socket() noexcept { return std::move(socket_); }

 private:
  enum class Turn : std::uint8_t { hello, challenge, answer, decision };
  State end(int error) noexcept;
  Moved turn(const Handshake& handshake) noexcept;

  const Route route_;
  const Ticket ticket_;
  const std::uint64_t since_;
  const Hello hello_;
  UniqueFd socket_;
  State state_ = State::going;
  Turn turn_ = Turn::hello;
  int error_ = 0;
  bool refused_ = false;
  bool is_another_ = false;  // who answers there is not the peer
  Transfer transfer_;
  Challenge challenge_;
  Answer answer_;
  Decision decision_;
};

}  // namespace stria::tcp
