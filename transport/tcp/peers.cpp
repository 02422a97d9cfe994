#include "transport/tcp/peers.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/format.hpp"
#include "transport/tcp/candidates.hpp"
#include "transport/tcp/clock.hpp"

namespace stria::tcp {
namespace {

constexpr const char* kNewDevice = "a new device has its worker id";

}  // namespace

Peers::Peers(const Parts& parts, Token door, Token handshakes)
    : parts_(parts),
      door_token_(door),
      dialling_by_{parts.handshake, parts.shared.events, handshakes, parts.connect_ms,
                   [this] { return parts_.links.make_room(); }},
      door_(parts.handshake, parts.shared.events, parts.shared.services, dialling_by_.make_room),
      bulk_dials_(parts.shared, dialling_by_),
      reconnections_(parts.shared, parts.links, dialling_by_) {}

Result<Link*> Peers::connect(std::span<const std::byte> address, void* cookie) {
  auto decoded = decode(address, parts_.secret);
  if (!decoded) return std::move(decoded).error();
  Address peer = *std::move(decoded);
  Link* known = parts_.links.to_worker(peer.worker);
  if (known != nullptr && known->peer().instance != peer.instance) {
    replace(*known, kNewDevice);
    known = nullptr;
  }
  if (known != nullptr) {
    known->cookie = cookie;
    return known;
  }
  if (peer.instance == parts_.handshake.instance()) return reach_itself(std::move(peer), cookie);
  Link& link = parts_.links.add(std::move(peer));
  link.cookie = cookie;
  const std::uint64_t now = now_ms();
  dialing_.reserve(dialing_.size() + 1);
  link.dial = std::make_unique<Dial>(
      dialling_by_, link.peer(),
      order_candidates(link.peer().ips, own_, link.peer().shares_network_with(parts_.self)), now);
  dialing_.push_back(&link);
  link.dial->advance(now);  // step() goes on, also if this has connected already
  set_timer(now);
  return &link;
}

Result<Link*> Peers::reach_itself(Address self, void* cookie) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
    return Error{Status::io_error, fmt::format("tcp: no sockets for messages of this worker to itself: {}",
                                               std::strerror(errno))};
  UniqueFd sends(pair[0]), receives(pair[1]);
  Link& link = parts_.links.add(std::move(self));
  link.cookie = cookie;
  link.come_up(std::move(sends), std::move(receives));
  return &link;
}

/// Ends a link whose peer is gone, or does not know the link any more.
void Peers::replace(Link& link, const char* why) noexcept {
  std::erase(dialing_, &link);
  parts_.links.fail(link, Status::peer_failed, why);
}

void Peers::report_up(Link& link) noexcept {
  std::erase(dialing_, &link);
  parts_.shared.sink.link_changed(parts_.shared.sink.self, link.cookie);
}

void Peers::advance_dials(std::uint64_t now) {
  const std::vector<Link*> dialing = dialing_;
  given_up_.reserve(dialing.size());
  for (Link* const link : dialing) {
    if (link->dial == nullptr) continue;  // an upcall has ended the dial
    switch (link->dial->advance(now)) {
      case Dial::State::going:
        break;
      case Dial::State::connected:
        link->come_up(link->dial->take_socket(), link->dial->ip(), link->peer().eager_max, Link::Maker::self);
        report_up(*link);
        break;
      case Dial::State::failed: {
        const bool gone = link->dial->all_refused() && link->peer().shares_network_with(parts_.self);
        given_up_.push_back({link, gone ? Status::peer_failed : Status::unreachable, link->dial->report()});
        link->dial.reset();
        std::erase(dialing_, link);
        break;
      }
    }
  }
}

void Peers::make_bulk() noexcept {
  bulk_dials_.begin(now_ms());
  step();
}

bool Peers::takes_bulk(Link* link) noexcept {
  return link != nullptr && link->is_made_by_peer() && link->can_have_bulk() && link->bulk() != nullptr;
}

void Peers::add_bulk(Guest& guest) {
  Link* const link = parts_.links.to_worker(guest.hello().from_worker);
  if (!takes_bulk(link)) return;
  link->bulk()->welcome(guest.hello().purpose, guest.take_socket());
}

void Peers::connect_anew() noexcept {
  std::vector<Link*>& lost = parts_.shared.lost;  // keeps the room that Links::add() has reserved
  try {
    for (; !lost.empty(); lost.pop_back()) reconnections_.begin(*lost.back(), now_ms());
  } catch (const std::bad_alloc&) {
    parts_.shared.services.log(3, "tcp: there is no memory to connect anew");
  }
  step();
}

/// Continues a lost link over the connection that a guest has brought.
void Peers::go_on(Guest& guest) {
  Link* const link = parts_.links.to_worker(guest.hello().from_worker);
  if (link != nullptr && link->state() == Link::State::lost)
    reconnections_.finish(*link, guest.take_socket(), guest.hello().received);
}

/// Sends something over each connection that this device has made to the address of a silent guest. The guest
/// may be a peer whose connection was reset while this device has heard nothing of that: what is sent shows
/// whether the connection is there.
void Peers::answer_questions(std::uint64_t now) noexcept {
  door_.for_each_question(now, [this](const Ip& ip) {
    parts_.links.for_each([&ip](Link& link) {
      if (link.state() == Link::State::up && !link.is_made_by_peer() && link.peer_ip() == ip)
        link.say_nothing();
    });
  });
}

/// The answer to a peer that wants to go on with a link after a reset. None: the peer has to wait until the
/// packets that came by the old connection are delivered.
std::optional<Decision> Peers::decide_more(Link* known) {
  if (known == nullptr || !known->is_made_by_peer() || !known->is_there()) return Decision{Verdict::closing};
  if (known->state() == Link::State::lost) return Decision{Verdict::welcome, 0, known->received()};
  if (closing_) {
    known->lose();  // packets are not delivered any more, so the peer need not wait
    return Decision{Verdict::welcome, 0, known->received()};
  }
  known->end_connection();
  return {};
}

void Peers::forget(const Link& link) noexcept {
  reconnections_.forget(link);
  bulk_dials_.forget(link);
}

/// Decides what becomes of a guest of this job. False: the guest has to wait.
bool Peers::decide(Guest& guest) {
  const Hello& hello = guest.hello();
  const auto answer = [&guest](Verdict verdict) {
    guest.decide({verdict});
    return true;
  };
  if (closing_ && hello.purpose != kForMore) return answer(Verdict::closing);
  Link* known = parts_.links.to_worker(hello.from_worker);
  if (known != nullptr && known->peer().instance != hello.from_instance) {
    replace(*known, kNewDevice);
    known = nullptr;
  }
  if (parts_.links.has_failed_link_to(hello.from_worker))
    return false;  // the worker is to hear of its end first
  if (hello.purpose == kForMore) {
    const auto decision = decide_more(known);
    if (decision) guest.decide(*decision);
    return decision.has_value();
  }
  if (hello.purpose != kForPackets) return answer(takes_bulk(known) ? Verdict::welcome : Verdict::closing);
  if (known == nullptr) return answer(Verdict::welcome);
  if (known->is_there()) {
    if (!known->is_made_by_peer()) return answer(Verdict::linked);
    // If nothing has come from the peer, it may not know of the link: the guest may be another try of the
    // same dial, or a new one because the connection was reset before the decision came to the peer.
    const bool is_known = known->received() > 0;
    if (known->state() == Link::State::up) return is_known && answer(Verdict::linked);
    if (!is_known) return answer(Verdict::welcome);
    replace(*known, "the peer has ended the link, and begins another");
    return false;
  }
  if (known->dial != nullptr && parts_.handshake.worker() < hello.from_worker) return false;
  return answer(Verdict::welcome);
}

void Peers::welcome(Guest& guest) {
  const Hello& hello = guest.hello();
  if (hello.purpose == kForMore) return go_on(guest);
  if (closing_) return;
  if (hello.purpose != kForPackets) return add_bulk(guest);
  if (Link* const known = parts_.links.to_worker(hello.from_worker)) {
    if (known->is_there()) return go_on(guest);
    known->come_up(guest.take_socket(), guest.ip(), hello.eager_max, Link::Maker::peer);
    return report_up(*known);
  }
  Address peer;
  peer.worker = hello.from_worker;
  peer.instance = hello.from_instance;
  peer.eager_max = hello.eager_max;
  peer.port = static_cast<std::uint16_t>(hello.port);
  Link& link = parts_.links.add(std::move(peer));
  link.come_up(guest.take_socket(), guest.ip(), hello.eager_max, Link::Maker::peer);
  const transport::Sink& sink = parts_.shared.sink;
  link.cookie = sink.peer_up(sink.self, hello.from_worker, reinterpret_cast<stria_link_t*>(&link));
}

void Peers::step() noexcept try {
  const std::uint64_t now = now_ms();
  advance_dials(now);
  bulk_dials_.advance(now);
  door_.serve([this](Guest& guest) { return decide(guest); }, [this](Guest& guest) { welcome(guest); });
  answer_questions(now);
  reconnections_.advance(now);  // after the door, at which the peer may be
  for (const GivenUp& one : std::exchange(given_up_, {}))
    if (one.link->is_coming())
      parts_.links.fail(*one.link, one.why, "it cannot be connected to: " + one.reason);
  set_timer(now);
} catch (const std::bad_alloc&) {
  parts_.shared.services.log(3, "tcp: there is no memory to go on with connections");
}

void Peers::set_timer(std::uint64_t now) noexcept {
  constexpr std::uint64_t kGuestsMs = 100, kBulkMs = 250, kAnewMs = 50;
  std::uint64_t next = door_.has_guests() ? kGuestsMs : 0;
  for (const Link* const link : dialing_) {
    const std::uint64_t one = link->dial->next_in_ms(now);
    next = next == 0 ? one : std::min(next, one);
  }
  if (!bulk_dials_.is_empty()) next = next == 0 ? kBulkMs : std::min(next, kBulkMs);
  if (!reconnections_.is_empty()) next = next == 0 ? kAnewMs : std::min(next, kAnewMs);
  parts_.shared.events.set_timer(next);
}

void Peers::begin_closing() noexcept {
  closing_ = true;
  for (Link* const link : dialing_) link->dial.reset();
  dialing_.clear();
  bulk_dials_.clear();
}

void Peers::close() noexcept {
  door_.close();
  reconnections_.close();
}

}  // namespace stria::tcp
