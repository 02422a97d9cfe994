#include "transport/tcp/dial.hpp"

#include <algorithm>
#include <utility>

namespace stria::tcp {
namespace {

constexpr std::uint64_t kStaggerMs = 50;
constexpr std::uint64_t kLookMs = 250;  // for attempts whose host does not answer
constexpr unsigned kAgainMost = 8;      // a stranger may hang up each time
constexpr std::uint64_t kAwayMs = 500;  // less than a guest has

}  // namespace

Dial::Dial(const Handshake& handshake, Events& events, Token token, const Address& peer,
           std::vector<Ip> candidates, std::uint64_t now, std::uint32_t patience_ms, std::uint32_t purpose,
           std::uint64_t received)
    : handshake_(handshake),
      events_(events),
      token_(token),
      peer_(peer),
      candidates_(std::move(candidates)),
      purpose_(purpose),
      received_(received),
      ends_(now + patience_ms),
      advanced_(now) {
  attempts_.reserve(candidates_.size());
}

std::unique_ptr<Attempt> Dial::begin(const Ip& ip, std::uint64_t now) {
  auto attempt = std::make_unique<Attempt>(handshake_, peer_, ip, now, purpose_, received_);
  if (attempt->socket()) static_cast<void>(events_.watch_changes(attempt->socket(), token_));
  return attempt;
}

Dial::State Dial::advance(std::uint64_t now) {
  const bool was_away = now - advanced_ > kAwayMs;
  if (was_away) ends_ += now - advanced_;
  advanced_ = now;
  for (;;) {
    bool going = false, waits = false;
    for (auto& attempt : attempts_) {
      Attempt::State state = attempt->advance(handshake_, now);
      if (attempt->was_hung_up_on() && (was_away || again_ < kAgainMost)) {
        ++again_;
        attempt = begin(attempt->ip(), now);
        state = attempt->advance(handshake_, now);
      }
      if (state == Attempt::State::welcome) {
        socket_ = attempt->take_socket();
        ip_ = attempt->ip();
        peer_received_ = attempt->received();
        return State::connected;
      }
      going = going || state == Attempt::State::going;
      waits = waits || state == Attempt::State::linked;
    }
    const bool is_last = attempts_.size() == candidates_.size();
    if (now >= ends_ || (is_last && !going && !waits)) return State::failed;
    if (is_last || (going && now - begun_ < kStaggerMs)) return State::going;
    begun_ = now;
    attempts_.push_back(begin(candidates_[attempts_.size()], now));
  }
}

std::uint64_t Dial::next_in_ms(std::uint64_t now) const noexcept {
  if (attempts_.size() < candidates_.size()) {
    const std::uint64_t next = begun_ + kStaggerMs;
    return next > now ? next - now : 1;
  }
  return std::min(kLookMs, ends_ > now ? ends_ - now : 1);
}

bool Dial::all_refused() const noexcept {
  return attempts_.size() == candidates_.size() &&
         std::all_of(attempts_.begin(), attempts_.end(),
                     [](const auto& attempt) { return attempt->was_refused(); });
}

bool Dial::has_reached() const noexcept {
  return std::any_of(attempts_.begin(), attempts_.end(),
                     [](const auto& attempt) { return attempt->has_reached(); });
}

bool Dial::was_turned_away() const noexcept {
  return std::any_of(attempts_.begin(), attempts_.end(),
                     [](const auto& attempt) { return attempt->was_turned_away(); });
}

std::string Dial::report() const {
  std::string out;
  for (const auto& attempt : attempts_) out += (out.empty() ? "" : "; ") + attempt->why();
  return out.empty() ? "none of its addresses can be tried" : out;
}

}  // namespace stria::tcp
