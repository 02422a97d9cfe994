#include "transport/tcp/reconnections.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/format.hpp"

namespace stria::tcp {
namespace {

constexpr std::uint64_t kAgainMs = 50;  // between two tries

/// What has become of a connection that nobody says anything on.
int state_of(const UniqueFd& socket) noexcept {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0) return error;
  std::byte one{};
  const ssize_t got = ::recv(socket.get(), &one, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0) return errno == ENOTCONN || errno == EINTR ? EAGAIN : errno;
  return ECONNRESET;
}

}  // namespace

void Reconnections::begin(Link& link, std::uint64_t now) {
  all_.emplace_back();
  all_.back().link = &link;
  all_.back().since = now;
  all_.back().next = now;
}

void Reconnections::forget(const Link& link) noexcept {
  std::erase_if(all_, [&link](const One& one) { return one.link == &link; });
}

Reconnections::Peer Reconnections::dial(One& one, std::uint64_t now) {
  if (one.dial == nullptr) {
    if (now < one.next) return Peer::unknown;
    one.dial = std::make_unique<Dial>(handshake_, shared_.events, token_, one.link->peer(),
                                      std::vector{one.link->peer_ip()}, now, shared_.silent_ms, kForMore,
                                      one.link->received());
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
  one.dial.reset();  // it was reset once more
  one.next = now + kAgainMs;
  return Peer::unknown;
}

/// Whether the peer's process still listens. Its device closes a connection that says nothing after a while.
Reconnections::Peer Reconnections::ask(One& one, std::uint64_t now) {
  int error = EAGAIN;
  if (!one.question) {
    if (now < one.next) return Peer::unknown;
    one.question = begin_connection(one.link->peer_ip(), one.link->peer().port);
    if (!one.question) error = errno;
    static_cast<void>(shared_.events.watch_changes(one.question, token_));
  }
  if (one.question) error = state_of(one.question);
  if (error == ECONNREFUSED) return Peer::gone;
  if (error == EAGAIN) return Peer::unknown;
  one.question.reset();
  one.next = now + kAgainMs;
  return Peer::unknown;
}

Reconnections::Peer Reconnections::look(One& one, std::uint64_t now) {
  const Peer out = one.link->is_made_by_peer() ? ask(one, now) : dial(one, now);
  return out == Peer::unknown && now - one.since >= shared_.silent_ms ? Peer::gone : out;
}

void Reconnections::advance(std::uint64_t now) {
  for (std::size_t i = 0; i < all_.size();) {
    Link& link = *all_[i].link;
    const Peer peer = link.state() == Link::State::lost ? look(all_[i], now) : Peer::gone;
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
  shared_.services.log(
      3, fmt::format("tcp: worker {:x}: its connection was reset, and has been made anew", link.peer().worker)
             .c_str());
}

}  // namespace stria::tcp
