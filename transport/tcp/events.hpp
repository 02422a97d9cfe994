// What tells a device that something can be done: an epoll descriptor with the device's sockets, and a timer.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace stria::tcp {

/// Names what a socket belongs to. The device gives tokens their meaning (tokens.hpp).
using Token = std::uint64_t;
/// Set in a link's token when one of the link's bulk connections is meant.
inline constexpr Token kBulkBit = 1;

class Events {
 public:
  struct Event {
    Token token;
    bool writable;  ///< there is room to write, or the socket has failed
    bool readable;  ///< something is there to read, or the socket has ended
  };
  /// `timer`: the token of the timer. Error: io_error.
  static Result<Events> open(Token timer);

  /// Watches a socket of a handshake: each change is reported once, also that the socket may be written to.
  /// False: the system refuses.
  bool watch_changes(const UniqueFd& socket, Token token) noexcept;
  /// Watches a socket, or changes how it is watched: it is reported as long as there is something to read,
  /// and with `writes` as long as there is room to write. False: the system refuses.
  bool watch(const UniqueFd& socket, Token token, bool writes) noexcept;

  /// Watches a descriptor that is no socket: it is reported as long as it is readable.
  bool watch(int descriptor, Token token) noexcept { return control(descriptor, token, EPOLLIN); }

  /// Sets the timer: after `ms` milliseconds the descriptor is readable, and look() reports the timer's
  /// token. 0: turns the timer off.
  void set_timer(std::uint64_t ms) noexcept;

  /// The events there are now, at most kMost, without waiting. Valid until the next call.
  std::span<const Event> look() noexcept;
  int descriptor() const noexcept { return epoll_ ? epoll_.get() : -1; }

 private:
  static constexpr int kMost = 32;
  bool control(int descriptor, Token token, std::uint32_t events) noexcept;
  UniqueFd epoll_;
  UniqueFd timer_;
  Token timer_token_ = 0;
  Event list_[kMost];
};

}  // namespace stria::tcp
