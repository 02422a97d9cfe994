// A host that answers nothing any more: it lost its power, or the network between. The system tells after a
// quarter of an hour only where bytes wait to be acknowledged (net.ipv4.tcp_retries2); its time-outs that can
// be set (TCP_USER_TIMEOUT) also end a connection to a process that was stopped, whose system answers as
// ever.
#pragma once

#include <cstdint>

#include "base/fd.hpp"

namespace stria::tcp {

class Silence {
 public:
  /// The system's own probes of a connection on which nothing waits: it ends after `limit_ms` without an
  /// answer.
  static void probe(const UniqueFd& socket, std::uint64_t limit_ms) noexcept;
  /// Bytes, or questions whether there is room, were sent again and again for `limit_ms`, and the peer's
  /// system has acknowledged nothing. Asked several times within the limit; a connection without unanswered
  /// ones costs one system call. `now`: of now_ms().
  bool lasts(const UniqueFd& socket, std::uint64_t now, std::uint64_t limit_ms) noexcept;

 private:
  std::uint64_t since_ = 0;  // when it was found to have begun; 0: the peer answers
};

}  // namespace stria::tcp
