// Finds that a peer's host does not answer any more, because it has lost its power, or the network between
// has failed. By itself the system reports that only after a quarter of an hour, and only where bytes wait to
// be acknowledged (net.ipv4.tcp_retries2). Its time limit that can be set (TCP_USER_TIMEOUT) ends also a
// connection to a process that was stopped, whose system still answers.
#pragma once

#include <cstdint>

#include "base/fd.hpp"

namespace stria::tcp {

class Silence {
 public:
  /// Has the system probe a connection on which nothing waits to be acknowledged: the connection ends after
  /// about `limit_ms` without an answer.
  static void set_keepalive(const UniqueFd& socket, std::uint64_t limit_ms) noexcept;
  /// Whether segments, or probes of a closed window, have been repeated for `limit_ms` while the peer's
  /// system acknowledged nothing. To be asked several times within the limit. Costs one system call. `now`:
  /// of now_ms().
  bool lasts(const UniqueFd& socket, std::uint64_t now, std::uint64_t limit_ms) noexcept;

 private:
  std::uint64_t since_ = 0;  // when the silence was found to have begun, of now_ms(); 0: the peer answers
};

}  // namespace stria::tcp
