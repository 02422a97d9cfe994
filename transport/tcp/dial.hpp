// Connecting to a peer: its addresses are tried one after the other, a new one whenever the others have not
// answered for a while, and the first that answers as the peer does wins. So an address that another host has
// too, or that leads nowhere, costs some time and nothing else.
//
// A process that computes does not advance its dials, and time goes on for nobody but the peers: what they
// have given up meanwhile is tried again, and the time in which the process was away does not count. An
// attempt that is hung up on otherwise is tried again a few times: its connection was reset, or the peer was
// slow.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/tcp/attempt.hpp"
#include "transport/tcp/events.hpp"

namespace stria::tcp {

/// What all dials of a device have in common.
struct Dialling {
  const Handshake& handshake;
  Events& events;
  Token token;                ///< tells when a dial may get further
  std::uint32_t patience_ms;  ///< for a peer to answer
  /// Closes connections that are not needed just now, where no descriptor is left. False: there are none.
  std::function<bool()> make_room;
};

class Dial {
 public:
  /// `candidates` are tried in their order. `purpose` and `received`: as in Hello.
  Dial(const Dialling& by, const Address& peer, std::vector<Route> candidates, std::uint64_t now,
       std::uint32_t purpose = kForPackets, std::uint64_t received = 0);

  enum class State : std::uint8_t { going, connected, failed };
  State advance(std::uint64_t now);
  /// After so many milliseconds advance() has something to do although nothing came.
  std::uint64_t next_in_ms(std::uint64_t now) const noexcept;
  /// Of a dial that is connected.
  UniqueFd take_socket() noexcept { return std::move(socket_); }
  const Ip& ip() const noexcept { return ip_; }  ///< likewise: where the peer has answered
  /// As in Decision, of a dial that is connected.
  std::uint64_t received() const noexcept { return peer_received_; }
  /// The peer's host has taken a connection, and the process has not answered yet.
  bool has_reached() const noexcept;
  /// The peer has said that it is being closed, or that the link has ended.
  bool was_turned_away() const noexcept;
  /// All addresses of the peer refuse connections: nobody listens on its port.
  bool all_refused() const noexcept;
  /// Each address with what became of it.
  std::string report() const;

 private:
  std::unique_ptr<Attempt> begin(const Route& route, std::uint64_t now);

  const Dialling& by_;
  const Address& peer_;
  const std::vector<Route> candidates_;
  const std::uint32_t purpose_;
  const std::uint64_t received_;
  std::uint64_t ends_;
  std::uint64_t advanced_;   // last
  std::uint64_t begun_ = 0;  // the last attempt
  std::vector<std::unique_ptr<Attempt>> attempts_;
  unsigned again_ = 0;  // attempts that were begun anew
  UniqueFd socket_;
  Ip ip_;
  std::uint64_t peer_received_ = 0;
};

}  // namespace stria::tcp
