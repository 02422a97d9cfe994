// Endpoints that are joined pairwise, for transports that cannot be connected to by an address alone, such as
// reliable connections of an adapter. What the two sides have to know of each other's endpoints goes by a TCP
// connection that is made for it:
//
//   asks:      endpoint ── Join ──►              ◄── Joined ── the two are joined; the hello goes by them
//   is asked:              ──► Join   endpoint, joined ── Joined ──►
//
// A process that does not prove the job's secret is not answered, and gets no endpoint. An endpoint that was
// made for a peer waits here for the peer's hello while the peer keeps the connection. Both sides keep it as
// long as their links: the kernel closes it when a process dies, whereas an adapter may send to a dead peer
// for many seconds before it says so.
//
// When two devices ask each other at once, the ask of the one with the smaller instance counts. The other
// gives its own up, answers, and waits for the hello. The first leaves the other's ask unanswered as long as
// its own is with the peer; should its own come to nothing, it answers instead.
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

/// `events`, an epoll descriptor, tells when anything happens at the socket. False: it cannot.
bool wakes_by(const UniqueFd& events, const UniqueFd& socket) noexcept;

class Joiner {
 public:
  Joiner(Shared& shared, const Handshake& handshake, const std::vector<std::byte>& address) noexcept
      : shared_(shared), handshake_(handshake), address_(address) {}

  /// Where a peer's link is found. Called once, before all else.
  void know(const Links& links) noexcept { links_ = &links; }
  Result<void> open();
  const TcpPlace& place() const noexcept { return place_; }
  int event_fd() const noexcept { return events_ ? events_.get() : -1; }  ///< -1: it is not open
  void close_door() noexcept;
  void close() noexcept;  ///< before the interface is

  /// Begins to ask for the link's endpoint, or goes on with it, unless the peer has asked and its hello is
  /// still to come. OK: the link has it. NO_RESOURCE: later. UNREACHABLE: all addresses of the peer refuse,
  /// or hang up. Else it gets none. Not from inside a function of UCX.
  Status ask(Link& link) noexcept;
  /// Gives the link the endpoint that was made for its peer. False: there is none.
  bool take(Link& link) noexcept;

  /// Looking costs a system call: now and then, while nothing says that it is worth it. A worker that calls
  /// once in a millisecond need not call often for it.
  bool is_due() noexcept {
    if (!door_) return false;
    return ++calls_ >= kRarely || (calls_ % kFew == 0 && now_ms() != looked_ms_);
  }
  void look_soon() noexcept { calls_ = kRarely; }
  /// Something came that answer(), or ask(), has not seen.
  bool has_news() noexcept;
  /// Answers the peers that ask for an endpoint. Not to be called from inside a function of UCX.
  void answer() noexcept;
  /// Drops the endpoints of peers that have given theirs up.
  void drop_unused() noexcept;

 private:
  static constexpr unsigned kFew = 8;
  static constexpr unsigned kRarely = 64;

  struct Guest {
    UniqueFd socket;
    Join message;
    Transfer came, went;
    Address from;  // instance 0: it has not said yet
    bool is_answered = false;
    std::uint64_t since_ms = 0;
  };
  struct Waiting {
    OwnEndpoint endpoint;
    std::uint64_t since_ms;
    UniqueFd socket;  // open as long as the peer has its endpoint; none until the peer has the answer
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
  bool told_of_strangers_ = false;
  std::vector<Guest> guests_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;  // by the peer's instance
};

}  // namespace stria::uct
