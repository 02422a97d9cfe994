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
  /// Begins the connection. `now`: of now_ms(). The attempt may have ended at once.
  Attempt(const Handshake& handshake, const Address& peer, const Route& route, std::uint64_t now,
          Intent intent = {}) noexcept;

  enum class State : std::uint8_t {
    going,
    welcome,  ///< the peer has answered, and packets may follow
    linked,   ///< the peer has answered that it has another connection to this device
    ended     ///< the attempt has failed; why() says why
  };
  /// Advances the handshake as far as possible without waiting.
  State advance(const Handshake& handshake, std::uint64_t now) noexcept;
  State state() const noexcept { return state_; }
  /// Whether the connection was refused: no process listens on the port, or a firewall refuses.
  bool was_refused() const noexcept { return refused_; }
  /// Whether the peer has proven itself and then answered that it is being closed, or that the link has
  /// ended.
  bool was_turned_away() const noexcept;
  /// Decision::received of the peer. Only of an attempt that is welcome.
  std::uint64_t received() const noexcept { return decision_.received; }
  /// Whether the connection is established and the handshake goes on.
  bool has_reached() const noexcept { return state_ == State::going && turn_ != Turn::hello; }
  /// Whether the far end closed or reset the connection before the handshake was complete.
  bool was_hung_up_on() const noexcept;
  /// Whether the attempt failed because no descriptor was left for its socket.
  bool lacked_descriptor() const noexcept { return state_ == State::ended && lacks_descriptor(error_); }
  const Route& route() const noexcept { return route_; }
  /// For people: the peer's address, and how far the attempt came or why it failed.
  std::string why() const;
  const UniqueFd& socket() const noexcept { return socket_; }
  UniqueFd take_socket() noexcept { return std::move(socket_); }

 private:
  enum class Turn : std::uint8_t { hello, challenge, answer, decision };
  State end(int error) noexcept;
  Moved turn(const Handshake& handshake) noexcept;

  const Route route_;
  const Ticket ticket_;
  const std::uint64_t since_;  // when the attempt began, of now_ms()
  const Hello hello_;
  UniqueFd socket_;
  State state_ = State::going;
  Turn turn_ = Turn::hello;
  int error_ = 0;
  bool refused_ = false;
  bool is_another_ = false;  // the process that answered has not proven that it is the peer
  Transfer transfer_;
  Challenge challenge_;
  Answer answer_;
  Decision decision_;
};

}  // namespace stria::tcp
