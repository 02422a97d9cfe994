#include "transport/tcp/dial.hpp"

#include <algorithm>
#include <utility>

#include "base/format.hpp"

namespace stria::tcp {
namespace {

constexpr std::uint64_t kStaggerMs = 50;  // between the beginnings of two attempts
constexpr std::uint64_t kLookMs = 250;    // between two calls of advance() when no event comes
constexpr unsigned kAgainMost = 8;        // attempts begun anew: a stranger may hang up each time
// After a longer time between two calls of advance() this process was away; less than kStrangerMs of a peer's
// door.
constexpr std::uint64_t kAwayMs = 500;

}  // namespace

Dial::Dial(const Dialling& by, const Address& peer, std::vector<Route> candidates, std::uint64_t now,
           Intent intent)
    : by_(by),
      peer_(peer),
      candidates_(std::move(candidates)),
      intent_(intent),
      ends_(now + by.patience_ms),
      advanced_(now) {
  attempts_.reserve(candidates_.size());
}

std::unique_ptr<Attempt> Dial::begin(const Route& route, std::uint64_t now) {
  const auto make = [&] { return std::make_unique<Attempt>(by_.handshake, peer_, route, now, intent_); };
  auto attempt = make();
  if (attempt->lacked_descriptor() && by_.make_room()) attempt = make();
  if (attempt->socket()) static_cast<void>(by_.events.watch_changes(attempt->socket(), by_.token));
  return attempt;
}

Dial::State Dial::advance(std::uint64_t now) {
  if (is_connected_) return State::connected;
  const bool was_away = now - advanced_ > kAwayMs;
  if (was_away) ends_ += now - advanced_;
  advanced_ = now;
  for (;;) {
    bool going = false, waits = false;
    for (auto& attempt : attempts_) {
      Attempt::State state = attempt->advance(by_.handshake, now);
      if (attempt->was_hung_up_on() && (was_away || again_ < kAgainMost)) {
        ++again_;
        attempt = begin(attempt->route(), now);
        state = attempt->advance(by_.handshake, now);
      }
      if (state == Attempt::State::welcome) {
        socket_ = attempt->take_socket();
        ip_ = attempt->route().to;
        peer_received_ = attempt->received();
        is_connected_ = true;
        return State::connected;
      }
      going = going || state == Attempt::State::going;
      waits = waits || state == Attempt::State::linked;
    }
    const bool is_last = attempts_.size() == candidates_.size();
    is_late_ = now >= ends_;
    if (is_late_ || (is_last && !going && !waits)) return State::failed;
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
  for (std::size_t i = attempts_.size(); i < candidates_.size(); ++i)
    out += (out.empty() ? "" : "; ") + candidates_[i].to.text() + ": not tried";
  if (out.empty()) return "none of its addresses can be tried";
  if (is_late_) out += fmt::format("; all that within {} ms (STRIA_TCP_CONNECT_MS)", by_.patience_ms);
  return out;
}

}  // namespace stria::tcp
