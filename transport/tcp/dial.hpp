// Connects to a peer. The peer's addresses are tried one after the other, a further one whenever the others
// have not answered for a while, and the first that answers as the peer does is taken. So an address that
// another host has too, or that leads nowhere, costs some time and nothing else.
//
// A process that computes does not advance its dials, and its peers may give up their side meanwhile. So an
// attempt that was hung up on while the process was away is begun anew, and the time away does not count. Any
// other attempt that is hung up on, because its connection was reset or the peer was slow, is begun anew a
// few times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/tcp/attempt.hpp"
#include "transport/tcp/events.hpp"

namespace stria::tcp {

/// What all dials of a device share.
struct Dialling {
  const Handshake& handshake;
  Events& events;
  Token token;                ///< of the events that tell when a dial may get further
  std::uint32_t patience_ms;  ///< time that a peer has to answer
  /// Closes connections that are not needed at present, to free descriptors. False: there are none to close.
  std::function<bool()> make_room;
};

class Dial {
 public:
  /// Tries `candidates` in their order. `now`: of now_ms(). Keeps references to `by` and `peer`.
  Dial(const Dialling& by, const Address& peer, std::vector<Route> candidates, std::uint64_t now,
       Intent intent = {});

  enum class State : std::uint8_t { going, connected, failed };
  /// Begins and advances attempts as far as possible without waiting. If a peer answers soon enough, already
  /// the first call may connect. A dial that is connected stays so.
  State advance(std::uint64_t now);
  /// Milliseconds after which advance() has something to do even if no event comes.
  std::uint64_t next_in_ms(std::uint64_t now) const noexcept;
  /// Only of a dial that is connected.
  UniqueFd take_socket() noexcept { return std::move(socket_); }
  /// The address that the peer has answered at; only of a dial that is connected.
  const Ip& ip() const noexcept { return ip_; }
  /// Decision::received of the peer. Only of a dial that is connected.
  std::uint64_t received() const noexcept { return peer_received_; }
  /// Whether the connection of an attempt is established and its handshake goes on.
  bool has_reached() const noexcept;
  /// Whether the peer has answered that it is being closed, or that the link has ended.
  bool was_turned_away() const noexcept;
  /// Whether all candidates were tried and refused the connection.
  bool all_refused() const noexcept;
  /// For people: what became of each address.
  std::string report() const;

 private:
  std::unique_ptr<Attempt> begin(const Route& route, std::uint64_t now);

  const Dialling& by_;
  const Address& peer_;
  const std::vector<Route> candidates_;
  const Intent intent_;
  std::uint64_t ends_;       // when the dial is given up, of now_ms()
  std::uint64_t advanced_;   // when advance() was last called
  std::uint64_t begun_ = 0;  // when the last attempt began
  std::vector<std::unique_ptr<Attempt>> attempts_;
  unsigned again_ = 0;    // attempts that were begun anew
  bool is_late_ = false;  // the time for the dial is over
  bool is_connected_ = false;
  UniqueFd socket_;
  Ip ip_;
  std::uint64_t peer_received_ = 0;
};

}  // namespace stria::tcp
