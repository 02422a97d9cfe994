#include "transport/tcp/guest.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace stria::tcp {

/// Whether the peer has not hung up. A peer that waits for the decision sends nothing, so anything to read is
/// the end.
bool Guest::is_open() const noexcept {
  std::byte one{};
  return ::recv(socket_.get(), &one, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR);
}

bool Guest::asks_by_silence(std::uint64_t now) noexcept {
  constexpr std::uint64_t kSilentMs = 50;
  const bool asks = state_ == State::talking && turn_ == Turn::hello && now - since_ >= kSilentMs;
  return asks && !std::exchange(has_asked_, true);
}

Guest::State Guest::turn_away() noexcept {
  stranger_ = true;
  return state_ = State::gone;
}

Guest::State Guest::advance(const Handshake& handshake) noexcept {
  const auto then = [this](Turn next) {
    turn_ = next;
    transfer_ = {};
  };
  while (state_ == State::talking) {
    Moved moved = Moved::some;
    switch (turn_) {
      case Turn::hello:
        moved = transfer_.receive(socket_, bytes_of(hello_));
        if (moved != Moved::all) break;
        if (!handshake.is_meant(hello_)) return turn_away();
        challenge_ = handshake.challenge(hello_);
        then(Turn::challenge);
        break;
      case Turn::challenge:
        moved = transfer_.send(socket_, bytes_of(std::as_const(challenge_)));
        if (moved == Moved::all) then(Turn::answer);
        break;
      case Turn::answer:
        moved = transfer_.receive(socket_, bytes_of(answer_));
        if (moved != Moved::all) break;
        if (!handshake.accepts(hello_, challenge_.nonce, answer_)) return turn_away();
        then(Turn::wait);
        return state_ = State::proven;
      case Turn::decision:
        moved = transfer_.send(socket_, bytes_of(std::as_const(decision_)));
        if (moved == Moved::all) return state_ = State::answered;
        break;
      case Turn::wait:
        break;
    }
    if (moved == Moved::ended) return state_ = State::gone;
    if (moved == Moved::some) return state_;
  }
  if (state_ == State::proven && !is_open()) state_ = State::gone;
  return state_;
}

void Guest::decide(const Decision& decision) noexcept {
  decision_ = decision;
  turn_ = Turn::decision;
  transfer_ = {};
  state_ = State::talking;
}

}  // namespace stria::tcp
