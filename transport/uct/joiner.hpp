// Joins endpoints pairwise, for transports that cannot connect to a peer by its address alone, such as
// reliable connections of an adapter. The two sides exchange the addresses of their endpoints by a TCP
// connection that is made for this purpose:
//
//   asking side:  endpoint ── Join ──►            ◄── Joined ── joins its endpoint, by which the hello goes
//   asked side:            ──► Join   endpoint, joined ── Joined ──►
//
// A process that does not prove the job's secret gets no answer and no endpoint. An endpoint that was made
// for a peer waits here for the peer's hello while the peer keeps the TCP connection. Both sides keep the
// connection as long as their links: the kernel closes it when a process dies, whereas an adapter may send to
// a dead peer for many seconds before it reports the failure.
//
// When two devices ask each other at the same time, the question of the device with the smaller instance
// counts. The device with the greater instance drops its own question, answers, and waits for the hello. The
// device with the smaller instance does not answer while its own question is with the peer; if its own
// question fails, it answers after all.
#pragma once

#include <uct/api/uct.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "transport/uct/clock.hpp"
#include "transport/uct/handshake.hpp"
#include "transport/uct/shared.hpp"
#include "transport/uct/tcp.hpp"

namespace stria::uct {

class Link;
class Links;

/// Adds `socket` to the epoll descriptor `events`, edge-triggered. False: the kernel refuses.
bool wakes_by(const UniqueFd& events, const UniqueFd& socket) noexcept;

class Joiner {
 public:
  Joiner(Shared& shared, const Handshake& handshake, const std::vector<std::byte>& address) noexcept
      : shared_(shared), handshake_(handshake), address_(address) {}

  /// Sets where the links of peers are found. Called once, before any other function.
  void know(const Links& links) noexcept { links_ = &links; }
  /// Begins to listen for peers that ask.
  Result<void> open();
  const TcpPlace& place() const noexcept { return place_; }
  int event_fd() const noexcept { return events_ ? events_.get() : -1; }  ///< -1: the joiner is not open
  /// Stops listening, and drops the peers that were not answered completely.
  void close_door() noexcept;
  /// Also destroys the endpoints that wait for a hello. Called before the interface is closed.
  void close() noexcept;

  /// Asks the peer for an endpoint for the link, or continues to. When the peer has asked already, waits for
  /// the peer's hello instead. OK: the link has its endpoint. NO_RESOURCE: call again later. UNREACHABLE: all
  /// addresses of the peer refused or hung up. Any other status: the link gets no endpoint. Not to be called
  /// from inside a function of UCX.
  Status ask(Link& link) noexcept;
  /// Gives the link the endpoint that was made for the link's peer. False: there is none.
  bool take(Link& link) noexcept;

  /// Whether answer() is to be called now. Each call of answer() costs system calls, so it is due rarely
  /// while nothing indicates that a peer asks: after kRarely calls of is_due(), or, so that a slow caller is
  /// not late, after kFew of them when the clock has moved on.
  bool is_due() noexcept {
    if (!door_) return false;
    return ++calls_ >= kRarely || (calls_ % kFew == 0 && now_ms() != looked_ms_);
  }
  /// Makes the next call of is_due() return true.
  void look_soon() noexcept { calls_ = kRarely; }
  /// Whether anything has happened at a socket since the last call.
  bool has_news() noexcept;
  /// Answers the peers that ask for an endpoint. Not to be called from inside a function of UCX.
  void answer() noexcept;
  /// Drops endpoints whose peers hung up long ago without a hello.
  void drop_unused() noexcept;

 private:
  static constexpr unsigned kFew = 8;
  static constexpr unsigned kRarely = 64;

  // A process that connected to ask for an endpoint.
  struct Guest {
    UniqueFd socket;
    Join message;         // its question; once it is answered, the answer
    Transfer came, went;  // progress of the question and of the answer
    Address from;         // instance 0: the question is not there yet
    bool is_answered = false;
    std::uint64_t since_ms = 0;
  };
  // An endpoint that was made for a peer whose hello has not come.
  struct Waiting {
    OwnEndpoint endpoint;
    std::uint64_t since_ms;  // when the endpoint was made, or last seen not to be given up
    UniqueFd socket;  // the peer keeps it open as long as its endpoint; none until the answer was sent whole
    bool is_given_up() const noexcept { return socket && !is_open(socket); }
  };
  bool serve(Guest& guest) noexcept;
  bool hear(Guest& guest);
  bool is_outranked(const Guest& guest) const noexcept;
  bool join_with(Guest& guest);
  bool is_asked_by(std::uint64_t instance) const noexcept;
  Link* link_that_asks(const Address& peer) const noexcept;
  Status wait_for_hello(Link& link) noexcept;

  Shared& shared_;
  const Handshake& handshake_;
  const std::vector<std::byte>& address_;
  const Links* links_ = nullptr;
  TcpPlace place_;
  UniqueFd door_;
  UniqueFd events_;
  unsigned calls_ = 0;
  std::uint64_t looked_ms_ = 0;
  bool told_of_strangers_ = false;  // a guest without the proof is logged once
  std::vector<Guest> guests_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;  // by the peer's instance
};

}  // namespace stria::uct
