// Endpoints that are joined pairwise, for transports that cannot be connected to by an address alone, such as
// reliable connections of an adapter. What the two sides have to know of each other's endpoints goes by a TCP
// connection that is made for it:
//
//   asks:      endpoint ── Join ──►              ◄── Joined ── the two are joined; the hello goes by them
//   is asked:              ──► Join   endpoint, joined ── Joined ──►
//
// Whoever lacks the proof of the job's secret is not answered, and gets no endpoint. An endpoint that was
// made for a peer waits here for the peer's hello, at least while the peer keeps the connection, which it
// does until it has joined its own. When both ask, there are two pairs: each side sends by the one it asked
// for.
#pragma once

#include <uct/api/uct.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
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

  Result<void> open();
  const TcpPlace& place() const noexcept { return place_; }
  int event_fd() const noexcept { return events_ ? events_.get() : -1; }  ///< -1: it is not open
  void close_door() noexcept;
  void close() noexcept;  ///< before the interface is

  /// Begins to ask for the link's endpoint, or goes on with it. OK: the link has it. NO_RESOURCE: later.
  /// UNREACHABLE: all addresses of the peer refuse, or hang up. Else it gets none. Not from inside a function
  /// of UCX.
  Status ask(Link& link) noexcept;
  /// The endpoint that was made for this peer; null: none.
  uct_ep_h take(std::uint64_t instance) noexcept;

  /// Looking costs a system call: now and then, while nothing says that it is worth it.
  bool is_due() noexcept { return door_ && ++calls_ >= kRarely; }
  void look_soon() noexcept { calls_ = kRarely; }
  /// Something came that answer(), or ask(), has not seen.
  bool has_news() noexcept;
  /// Answers those who ask. Not from inside a function of UCX.
  void answer() noexcept;
  /// Of peers that have no link.
  void drop_unused(const Links& links) noexcept;

 private:
  static constexpr unsigned kRarely = 64;

  struct Guest {
    UniqueFd socket;
    Join message;
    Transfer came, went;
    std::uint64_t instance = 0;  // of the device that it is, once it is answered
    std::uint64_t since_ms = 0;
  };
  struct Waiting {
    OwnEndpoint endpoint;
    std::uint64_t worker;
    std::uint64_t since_ms;
    UniqueFd socket;  // open until the peer has joined
  };
  bool serve(Guest& guest) noexcept;
  bool join_with(Guest& guest);

  Shared& shared_;
  const Handshake& handshake_;
  const std::vector<std::byte>& address_;
  TcpPlace place_;
  UniqueFd door_;
  UniqueFd events_;
  unsigned calls_ = 0;
  bool told_of_strangers_ = false;
  std::vector<Guest> guests_;
  std::unordered_map<std::uint64_t, Waiting> waiting_;  // by the peer's instance
};

}  // namespace stria::uct
