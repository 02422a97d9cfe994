// A connection that came to this device, until a link takes it over: the dialled side of the handshake.
#pragma once

#include <cstdint>
#include <utility>

#include "base/fd.hpp"
#include "transport/tcp/handshake.hpp"
#include "transport/tcp/socket.hpp"

namespace stria::tcp {

class Guest {
 public:
  Guest(UniqueFd socket, std::uint64_t now) noexcept
      : socket_(std::move(socket)), ip_(peer_of(socket_)), since_(now) {}

  enum class State : std::uint8_t {
    talking,
    proven,    ///< the peer belongs to this job; decide() is next
    answered,  ///< the decision was sent
    gone       ///< the peer has hung up, or is no device of this job
  };
  /// Advances the handshake as far as possible without waiting.
  State advance(const Handshake& handshake) noexcept;
  /// Sets the answer to a guest that is proven; advance() sends it.
  void decide(const Decision& decision) noexcept;
  State state() const noexcept { return state_; }
  /// The peer's Hello, valid from `proven` on.
  const Hello& hello() const noexcept { return hello_; }
  Verdict verdict() const noexcept { return decision_.verdict; }
  /// When the connection came, of now_ms().
  std::uint64_t since() const noexcept { return since_; }
  /// The address that the connection comes from.
  const Ip& ip() const noexcept { return ip_; }
  const UniqueFd& socket() const noexcept { return socket_; }
  /// True once, when the guest has said nothing for a while: a peer asks so whether this process listens
  /// (Reconnections).
  bool asks_by_silence(std::uint64_t now) noexcept;
  /// Whether the far end has sent what no device of this job would send to this device.
  bool is_stranger() const noexcept { return stranger_; }
  UniqueFd take_socket() noexcept { return std::move(socket_); }

 private:
  enum class Turn : std::uint8_t { hello, challenge, answer, wait, decision };
  bool is_open() const noexcept;
  State turn_away() noexcept;

  UniqueFd socket_;
  Ip ip_;
  std::uint64_t since_;
  State state_ = State::talking;
  Turn turn_ = Turn::hello;
  Transfer transfer_;
  Hello hello_;
  Challenge challenge_;
  Answer answer_;
  Decision decision_;
  bool stranger_ = false;
  bool has_asked_ = false;
};

}  // namespace stria::tcp
