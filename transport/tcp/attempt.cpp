#include "transport/tcp/attempt.hpp"

#include <cerrno>
#include <cstring>

namespace stria::tcp {
namespace {

constexpr std::uint64_t kReachMs = 10000;  // time for the peer's host to accept the connection

}  // namespace

Attempt::Attempt(const Handshake& handshake, const Address& peer, const Route& route, std::uint64_t now,
                 Intent intent) noexcept
    : route_(route),
      ticket_(peer.ticket),
      since_(now),
      hello_(handshake.hello(peer, intent)),
      socket_(begin_connection(route, peer.port)) {
  if (!socket_) end(errno);
}

Attempt::State Attempt::end(int error) noexcept {
  error_ = error;
  refused_ = error == ECONNREFUSED;
  socket_.reset();
  return state_ = State::ended;
}

/// Performs one step of the handshake. `all`: the step is complete, and the next one may follow.
Moved Attempt::turn(const Handshake& handshake) noexcept {
  Moved moved = Moved::some;
  switch (turn_) {
    case Turn::hello:
      moved = transfer_.send(socket_, bytes_of(hello_));
      break;
    case Turn::challenge:
      moved = transfer_.receive(socket_, bytes_of(challenge_));
      if (moved == Moved::all && !handshake.accepts(hello_, challenge_, ticket_, answer_)) {
        is_another_ = true;
        return Moved::ended;
      }
      break;
    case Turn::answer:
      moved = transfer_.send(socket_, bytes_of(std::as_const(answer_)));
      break;
    case Turn::decision:
      moved = transfer_.receive(socket_, bytes_of(decision_));
      break;
  }
  return moved;
}

Attempt::State Attempt::advance(const Handshake& handshake, std::uint64_t now) noexcept {
  while (state_ == State::going) {
    errno = 0;
    const Moved moved = turn(handshake);
    if (moved == Moved::ended) return end(errno);
    if (moved == Moved::some) {
      // The hello cannot be sent before the peer's host has accepted the connection.
      if (turn_ == Turn::hello && now - since_ > kReachMs) return end(ETIMEDOUT);
      return state_;
    }
    transfer_ = {};
    if (turn_ != Turn::decision)
      turn_ = static_cast<Turn>(static_cast<unsigned>(turn_) + 1);
    else if (decision_.verdict == Verdict::welcome)
      state_ = State::welcome;
    else if (decision_.verdict == Verdict::linked)
      state_ = State::linked;
    else
      end(ESHUTDOWN);
  }
  return state_;
}

bool Attempt::was_turned_away() const noexcept {
  return state_ == State::ended && error_ == ESHUTDOWN;
}

bool Attempt::was_hung_up_on() const noexcept {
  return state_ == State::ended && !is_another_ && (error_ == 0 || error_ == EPIPE || is_reset(error_));
}

std::string Attempt::why() const {
  const char* text = "no host has answered";
  if (is_another_)
    text = "another process answers there, or one of another job";
  else if (state_ == State::linked)
    text = "the peer has another connection to this process";
  else if (was_turned_away())
    text = "the peer is being closed";
  else if (state_ == State::ended && error_ == 0)
    text = "what listens there hung up: it is another process, or of another version or job";
  else if (state_ == State::ended)
    text = std::strerror(error_);
  else if (turn_ != Turn::hello)
    text = "connected, and not answered yet";
  return route_.to.text() + ": " + text;
}

}  // namespace stria::tcp
