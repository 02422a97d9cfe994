#include "transport/tcp/receiver.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "transport/tcp/tokens.hpp"

namespace stria::tcp {
namespace {

constexpr unsigned kSkipHot = 16;               // calls from one look to the next while links have traffic
constexpr unsigned kSkipMost = 64;              // calls from one look to the next while no link has traffic
constexpr unsigned kClockCalls = 4;             // calls after which the clock is read
constexpr std::uint64_t kLookUs = 200;          // time after which a look is due
constexpr std::uint16_t kFruitlessMost = 1000;  // reads in vain after which a link is not hot any more

std::uint64_t now_us() noexcept {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(
      duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count());
}

}  // namespace

/// Whether all sockets are to be looked at: after skip_ calls, or, for a process that calls rarely, when
/// kLookUs are over; that is checked by each kClockCalls-th call.
bool Receiver::is_due() noexcept {
  if (asleep_) {  // the wakeup was notified, or something else is to be done
    wakeup_->clear();
    look_soon();
    return true;
  }
  if (++calls_ >= skip_ || shared_.waiting_for_room > 0) return true;
  return calls_ % kClockCalls == 0 && now_us() - looked_us_ >= kLookUs;
}

unsigned Receiver::receive(unsigned budget, bool& handshakes) noexcept {
  unsigned delivered = ready_.empty() ? 0 : read_ready(budget);
  if (has_ended()) delivered += go_on(budget - delivered);
  if (hot_[0] != nullptr && delivered < budget) delivered += read_hot(budget - delivered);
  if (delivered < budget && is_due()) delivered += look_at_all(budget - delivered, handshakes);
  return delivered;
}

/// Goes on with the links for which the kernel has ended something.
unsigned Receiver::go_on(unsigned budget) noexcept {
  unsigned delivered = 0;
  while (delivered < budget) {
    const KernelQueue::Operation* const ended = shared_.queue->next();
    if (ended == nullptr) break;
    Link& link = link_of(ended->token);
    link.flush();
    if (!is_bulk(ended->token)) continue;
    delivered += read_bulk(link, budget - delivered);
    if (link.state() == Link::State::up) warm(link);
  }
  return delivered;
}

unsigned Receiver::read(Link& link, unsigned budget) noexcept {
  if (link.state() == Link::State::lost) return read_bulk(link, budget);
  return settle(link, link.receive(budget));
}

unsigned Receiver::read_bulk(Link& link, unsigned budget) noexcept {
  return settle(link, link.receive_bulk(budget));
}

unsigned Receiver::settle(Link& link, const Incoming::Outcome& outcome) noexcept {
  if (!link.is_there()) return outcome.delivered;
  switch (outcome.after) {
    case Incoming::After::idle:
      break;
    case Incoming::After::more:
      if (!std::exchange(link.is_ready, true)) ready_.push_back(&link);
      break;
    case Incoming::After::lost:
      link.lose();
      forget(link);
      link.is_ready = true;  // bulk connections may have brought pieces
      ready_.push_back(&link);
      break;
    case Incoming::After::ended:
      links_.fail(link, Status::peer_failed, link.end_text());
      break;
    case Incoming::After::wrong:
      links_.fail(link, Status::io_error, "what it sends is no packet");
      break;
  }
  if (!link.is_there()) forget(link);
  return outcome.delivered;
}

unsigned Receiver::read_ready(unsigned budget) noexcept {
  unsigned delivered = 0;
  // Each link once: one that has still more comes behind the others, and is read by the next call.
  for (std::size_t left = ready_.size(); left > 0 && delivered < budget && !ready_.empty(); --left) {
    Link* const link = ready_.front();
    ready_.erase(ready_.begin());
    link->is_ready = false;
    if (link->is_there()) delivered += read(*link, budget - delivered);
  }
  return delivered;
}

unsigned Receiver::read_hot(unsigned budget) noexcept {
  unsigned delivered = 0;
  for (const std::array<Link*, kHot> hot = hot_; Link* const link : hot) {
    if (link == nullptr || delivered == budget) break;
    if (link->is_ready || link->state() != Link::State::up) continue;
    const unsigned got = read(*link, budget - delivered);
    delivered += got;
    if (got > 0)
      link->fruitless = 0;
    else if (++link->fruitless > kFruitlessMost)
      forget_hot(*link);
  }
  return delivered;
}

void Receiver::warm(Link& link) noexcept {
  link.fruitless = 0;
  if (std::find(hot_.begin(), hot_.end(), &link) != hot_.end()) return;
  std::move_backward(hot_.begin(), hot_.end() - 1, hot_.end());
  hot_[0] = &link;
}

unsigned Receiver::look_at_all(unsigned budget, bool& handshakes) noexcept {
  unsigned delivered = 0;
  calls_ = 0;
  looked_us_ = now_us();
  const std::span<const Events::Event> events = shared_.events.look();
  for (const Events::Event& event : events) {
    if (!is_link(event.token)) {
      handshakes = handshakes || event.token != kQueueToken;
      continue;
    }
    Link& link = link_of(event.token);
    if (!link.is_there()) continue;  // the link has failed since
    if (event.writable) link.flush();
    if (!event.readable || delivered == budget || link.is_ready) continue;
    const unsigned left = budget - delivered;
    const unsigned got = is_bulk(event.token) ? read_bulk(link, left) : read(link, left);
    delivered += got;
    if ((got > 0 || is_bulk(event.token)) && link.state() == Link::State::up) warm(link);
  }
  plan_next_look(!events.empty());
  return delivered;
}

void Receiver::plan_next_look(bool found) noexcept {
  if (found) return look_soon();
  skip_ = std::min(2 * skip_, hot_[0] != nullptr ? kSkipHot : kSkipMost);
  // What comes between the look and arm() notifies the wakeup at once.
  if (skip_ == kSkipMost && ready_.empty() && wakeup_ != nullptr) asleep_ = wakeup_->arm();
}

bool Receiver::is_idle(bool& handshakes) noexcept {
  if (!ready_.empty() || has_ended()) return false;
  const std::span<const Events::Event> events = shared_.events.look();
  for (const Events::Event& event : events) handshakes = handshakes || event.token <= kHandshakeToken;
  if (!events.empty()) look_soon();
  return events.empty();
}

void Receiver::forget_hot(const Link& link) noexcept {
  const auto end = std::remove(hot_.begin(), hot_.end(), &link);
  std::fill(end, hot_.end(), nullptr);
}

void Receiver::forget(const Link& link) noexcept {
  forget_hot(link);
  std::erase(ready_, &link);
}

}  // namespace stria::tcp
