// Links whose connection was reset while both processes live. The side that made the first connection makes
// another, and both sides tell how much of the link's stream they have received. Meanwhile the other side
// tries the peer's port, to learn whether the peer's process is still there: a process that has died does not
// reconnect. A process that computes neither reconnects nor answers, but its host accepts connections. That
// time does not count against the link, nor does the time in which this process was away.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "transport/tcp/dial.hpp"
#include "transport/tcp/links.hpp"

namespace stria::tcp {

class Reconnections {
 public:
  Reconnections(Shared& shared, Links& links, const Dialling& by) noexcept
      : shared_(shared), links_(links), by_(by) {}

  /// Takes up a link that is lost. Throws bad_alloc.
  void begin(Link& link, std::uint64_t now);
  /// Advances all reconnections as far as possible without waiting. Throws bad_alloc.
  void advance(std::uint64_t now);
  /// Continues a lost link over `socket`, or ends it if that is impossible. `peer_received`: bytes of this
  /// side's stream that the peer has received.
  void finish(Link& link, UniqueFd socket, std::uint64_t peer_received) noexcept;
  bool is_empty() const noexcept { return all_.empty(); }
  /// Drops a link whose memory is about to go.
  void forget(const Link& link) noexcept;
  void close() noexcept { all_.clear(); }

 private:
  /// A lost link.
  struct One {
    Link* link = nullptr;
    std::uint64_t next = 0;  ///< when the next try begins, of now_ms()
    /// Time, in ms, that counts against the limit: the peer was not there, or it computes nothing.
    std::uint64_t waited = 0;
    /// Time, in ms, of the present connection, in which the peer's process may be computing.
    std::uint64_t connected = 0;
    std::unique_ptr<Dial> dial;  ///< of the side that makes the connection
    /// Of the other side: a connection that says nothing, and shows whether the peer listens.
    UniqueFd question;
  };
  enum class Peer : std::uint8_t { unknown, connected, gone };
  Peer advance_one(One& one, std::uint64_t now, std::uint64_t passed);
  void try_again(One& one, std::uint64_t now) noexcept;
  Peer dial(One& one, std::uint64_t now);
  Peer ask(One& one, std::uint64_t now);

  Shared& shared_;
  Links& links_;
  const Dialling& by_;
  std::uint64_t advanced_ = 0;  // when advance() was last called
  std::vector<One> all_;
  bool has_told_ = false;  // a reset was logged as a warning; later ones are logged as information
};

}  // namespace stria::tcp
