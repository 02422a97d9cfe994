// Links whose connection was reset while both processes live: the side that made the first connection makes
// another, and both tell how much of the link's stream has come to them. Meanwhile the other side asks the
// peer's port whether the process is still there: of one that has died nobody comes. A process that computes
// neither comes nor answers, while its host takes connections for it; that time does not count, nor does that
// in which this process was away.
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

  /// The link is lost. Throws bad_alloc.
  void begin(Link& link, std::uint64_t now);
  /// Goes on as far as it can without waiting. Throws bad_alloc.
  void advance(std::uint64_t now);
  /// The link goes on over `socket`; `peer_received`: as in Hello.
  void finish(Link& link, UniqueFd socket, std::uint64_t peer_received) noexcept;
  bool is_empty() const noexcept { return all_.empty(); }
  /// The link's memory goes.
  void forget(const Link& link) noexcept;
  void close() noexcept { all_.clear(); }

 private:
  struct One {
    Link* link = nullptr;
    std::uint64_t next = 0;       ///< when the next try begins
    std::uint64_t waited = 0;     ///< ms in which the peer's host was not there, or the process did not come
    std::uint64_t connected = 0;  ///< ms in which its host is there, and the process may be computing
    std::unique_ptr<Dial> dial;   ///< of the side that makes the connection
    UniqueFd question;            ///< of the other side: a connection that says nothing
  };
  enum class Peer : std::uint8_t { unknown, connected, gone };
  Peer look(One& one, std::uint64_t now, std::uint64_t passed);
  void try_again(One& one, std::uint64_t now) noexcept;
  Peer dial(One& one, std::uint64_t now);
  Peer ask(One& one, std::uint64_t now);

  Shared& shared_;
  Links& links_;
  const Dialling& by_;
  std::uint64_t advanced_ = 0;  // when
  std::vector<One> all_;
  bool has_told_ = false;  // that a connection was reset: the first is a warning
};

}  // namespace stria::tcp
