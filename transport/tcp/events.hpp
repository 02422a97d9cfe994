// What tells that something can be done: an epoll descriptor with the device's sockets, and a timer.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <span>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace stria::tcp {

/// What a socket belongs to; the device gives it a meaning.
using Token = std::uint64_t;
/// In the token of a link: one of its bulk connections is meant.
inline constexpr Token kBulkBit = 1;

class Events {
 public:
  struct Event {
    Token token;
    bool writable;  ///< there is room to write, or the socket has failed
    bool readable;  ///< something is there, or the socket has ended
  };
  static Result<Events> open(Token timer);

  /// A socket of a handshake: tells each change once, also that it may be written to.
  bool watch_changes(const UniqueFd& socket, Token token) noexcept;
  /// A socket of packets, watched anew or for the first time: tells as long as there is something to read,
  /// and with `writes` as long as there is room.
  bool watch(const UniqueFd& socket, Token token, bool writes) noexcept;

  /// Another descriptor: tells as long as it is readable.
  bool watch(int descriptor, Token token) noexcept { return control(descriptor, token, EPOLLIN); }

  /// After `ms` milliseconds the descriptor is readable, and look() gives the timer's token. 0: never.
  void set_timer(std::uint64_t ms) noexcept;

  /// What there is now, without waiting.
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
