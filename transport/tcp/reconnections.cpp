#include "transport/tcp/reconnections.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/format.hpp"

namespace stria::tcp {
namespace {

constexpr std::uint64_t kAgainMs = 50;  // between two tries
// After a longer time between two calls of advance() this process was away.
constexpr std::uint64_t kGapMs = 500;

/// The state of a connection on which neither side says anything. EAGAIN: it is being made, or stands; any
/// other errno: it has ended.
int state_of(const UniqueFd& socket) noexcept {
  if (const int error = error_of(socket); error != 0) return error;
  std::byte one{};
  const ssize_t got = ::recv(socket.get(), &one, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0) return errno == ENOTCONN || errno == EINTR ? EAGAIN : errno;
  return ECONNRESET;
}

bool is_established(const UniqueFd& socket) noexcept {
  sockaddr_storage peer{};
  socklen_t bytes = sizeof peer;
  return ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer), &bytes) == 0;
}

}  // namespace

void Reconnections::begin(Link& link, std::uint64_t now) {
  all_.emplace_back();
  all_.back().link = &link;
  all_.back().next = now;
  if (all_.size() == 1) advanced_ = now;
}

/// Ends a try, to begin another. Its connection came to nothing because the peer's process has ended it: so
/// the process does not compute, and the time counts.
void Reconnections::try_again(One& one, std::uint64_t now) noexcept {
  one.dial.reset();
  one.question.reset();
  one.waited += std::exchange(one.connected, 0);
  one.next = now + kAgainMs;
}

void Reconnections::forget(const Link& link) noexcept {
  std::erase_if(all_, [&link](const One& one) { return one.link == &link; });
}

Reconnections::Peer Reconnections::dial(One& one, std::uint64_t now) {
  if (one.dial == nullptr) {
    if (now < one.next) return Peer::unknown;
    one.dial = std::make_unique<Dial>(by_, one.link->peer(), std::vector{Route{one.link->peer_ip()}}, now,
                                      Intent{kForMore, one.link->received()});
  }
  switch (one.dial->advance(now)) {
    case Dial::State::going:
      return Peer::unknown;
    case Dial::State::connected:
      return Peer::connected;
    case Dial::State::failed:
      break;
  }
  if (one.dial->all_refused() || one.dial->was_turned_away()) return Peer::gone;
  try_again(one, now);
  return Peer::unknown;
}

/// Tries whether the peer's process still listens, by a connection that says nothing. The peer's device
/// closes such a connection after a while.
Reconnections::Peer Reconnections::ask(One& one, std::uint64_t now) {
  int error = EAGAIN;
  if (!one.question) {
    if (now < one.next) return Peer::unknown;
    const auto begin = [&] { return begin_connection({one.link->peer_ip()}, one.link->peer().port); };
    one.question = begin();
    if (!one.question && lacks_descriptor(errno) && by_.make_room()) one.question = begin();
    if (!one.question) error = errno;
    static_cast<void>(by_.events.watch_changes(one.question, by_.token));
  }
  if (one.question) error = state_of(one.question);
  if (error == ECONNREFUSED) return Peer::gone;
  if (error == EAGAIN) return Peer::unknown;
  try_again(one, now);
  return Peer::unknown;
}

/// Advances the reconnection of one link. `passed`: ms since the last time; 0: this process was away.
Reconnections::Peer Reconnections::advance_one(One& one, std::uint64_t now, std::uint64_t passed) {
  const Peer out = one.link->is_made_by_peer() ? ask(one, now) : dial(one, now);
  const bool is_connected = one.question ? is_established(one.question) : one.dial && one.dial->has_reached();
  (is_connected ? one.connected : one.waited) += passed;
  return out == Peer::unknown && one.waited >= shared_.silent_ms ? Peer::gone : out;
}

void Reconnections::advance(std::uint64_t now) {
  const std::uint64_t since = now - std::exchange(advanced_, now);
  const std::uint64_t passed = since <= kGapMs ? since : 0;
  for (std::size_t i = 0; i < all_.size();) {
    Link& link = *all_[i].link;
    const Peer peer = link.state() == Link::State::lost ? advance_one(all_[i], now, passed) : Peer::gone;
    if (peer == Peer::unknown) {
      ++i;
      continue;
    }
    const One one = std::move(all_[i]);
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(i));
    if (peer == Peer::connected)
      finish(link, one.dial->take_socket(), one.dial->received());
    else if (link.state() == Link::State::lost)
      links_.fail(link, Status::peer_failed, "");
  }
}

void Reconnections::finish(Link& link, UniqueFd socket, std::uint64_t peer_received) noexcept {
  forget(link);
  if (!link.go_on(std::move(socket), peer_received))
    return links_.fail(link, Status::peer_failed,
                       "its connection was reset, and what was under way is not here any more");
  constexpr int kInfo = 2, kWarning = 3;
  shared_.services.log(
      std::exchange(has_told_, true) ? kInfo : kWarning,
      fmt::format("tcp: worker {:x}: its connection was reset, and has been made anew", link.peer().worker)
          .c_str());
}

}  // namespace stria::tcp
