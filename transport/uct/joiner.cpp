#include "transport/uct/joiner.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/format.hpp"
#include "transport/uct/link.hpp"
#include "transport/uct/links.hpp"

namespace stria::uct {
namespace {

constexpr std::size_t kGuestsMost = 256;  // further guests wait in the kernel's queue of the listening socket
constexpr std::uint64_t kGuestMs = 10000;  // time for a guest to send its question and take the answer
constexpr std::uint64_t kHelloMs =
    60000;  // an endpoint is kept so long after its peer hung up without a hello

std::span<const std::byte> endpoint_in(const Join& message) noexcept {
  return {message.endpoint, message.endpoint_bytes};
}

}  // namespace

bool wakes_by(const UniqueFd& events, const UniqueFd& socket) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;  // each event is reported once, to has_news()
  return ::epoll_ctl(events.get(), EPOLL_CTL_ADD, socket.get(), &event) == 0;
}

Result<void> Joiner::open() {
  auto door = listen_for_peers(place_);
  if (!door) return std::move(door).error();
  door_ = *std::move(door);
  events_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!events_ || !wakes_by(events_, door_))
    return Error{Status::io_error,
                 fmt::format("uct: no descriptor for peers that join: {}", std::strerror(errno))};
  return {};
}

void Joiner::close_door() noexcept {
  door_.reset();
  guests_.clear();
}

void Joiner::close() noexcept {
  close_door();
  waiting_.clear();  // nothing was sent by these endpoints, so they need no flush
}

Status Joiner::ask(Link& link) noexcept try {
  Interface& interface = *shared_.interface;
  const Address& peer = link.peer();
  const auto refused = [this](const Error& error) {
    shared_.services->log(3, error.context.c_str());
    return Status::io_error;
  };
  if (link.ask == nullptr) {
    if (const Status status = wait_for_hello(link); status != Status::unreachable) return status;
    auto made = interface.make_endpoint();
    if (!made) return refused(made.error());
    link.ask = std::make_unique<Ask>(*std::move(made));
    auto own = interface.endpoint_address(link.ask->endpoint());
    if (!own) return refused(own.error());
    link.ask->say(handshake_.join(ControlKind::join, peer, address_, *own));
  }
  Ask& ask = *link.ask;
  for (;;) {
    if (const Status status = ask.advance(peer.joining, events_); status != Status::ok) {
      if (status != Status::unreachable || !is_asked_by(peer.instance)) return status;
      look_soon();  // the peer can reach this device: answer() answers its question and drops this one
      return Status::no_resource;
    }
    Address from;
    if (handshake_.read(ask.answer(), ControlKind::joined, from) && from.instance == peer.instance) break;
    ask.try_next();
  }
  if (auto joined = interface.join(ask.endpoint(), peer.device, endpoint_in(ask.answer())); !joined)
    return refused(joined.error());
  link.endpoint = ask.release();
  link.watch.keep(ask.release_connection());
  link.ask.reset();
  return Status::ok;
} catch (const std::bad_alloc&) {
  return Status::no_resource;
}

bool Joiner::take(Link& link) noexcept {
  const auto found = waiting_.find(link.peer().instance);
  if (found == waiting_.end()) return false;
  link.endpoint = found->second.endpoint.release();
  link.watch.keep(std::move(found->second.socket));
  waiting_.erase(found);
  return true;
}

bool Joiner::has_news() noexcept {
  if (!events_) return false;
  constexpr int kMost = 16;
  epoll_event list[kMost];
  if (::epoll_wait(events_.get(), list, kMost, 0) <= 0) return false;
  look_soon();
  return true;
}

void Joiner::answer() noexcept try {
  calls_ = 0;
  looked_ms_ = now_ms();
  while (guests_.size() < kGuestsMost) {
    Guest guest;
    guest.socket = accept_connection(door_);
    if (!guest.socket) break;
    guest.since_ms = now_ms();
    if (wakes_by(events_, guest.socket)) guests_.push_back(std::move(guest));
  }
  const bool were_full = guests_.size() == kGuestsMost;
  std::erase_if(guests_, [this](Guest& guest) { return !serve(guest); });
  // The listening socket is edge-triggered: it reports nothing for the guests that are in its queue already.
  if (were_full && guests_.size() < kGuestsMost) look_soon();
} catch (const std::bad_alloc&) {
  // The guest's socket is closed; the guest may ask again.
}

/// Receives the guest's question and sends the answer, as far as possible now. False: the guest is to be
/// removed, because it has its answer or gets none.
bool Joiner::serve(Guest& guest) noexcept try {
  const bool has_time = now_ms() - guest.since_ms < kGuestMs;
  if (guest.from.instance == 0) {
    const Moved moved = guest.came.receive(guest.socket, &guest.message, sizeof guest.message);
    if (moved == Moved::some) return has_time;
    if (moved == Moved::broken || !hear(guest)) return false;
  }
  if (!guest.is_answered) {
    if (!is_open(guest.socket)) return false;  // the guest has given up
    if (has_time && is_outranked(guest)) return true;
    if (!join_with(guest)) return false;
  }
  const Moved moved = guest.went.send(guest.socket, &guest.message, sizeof guest.message);
  if (moved == Moved::some && has_time) return true;
  const auto waits = waiting_.find(guest.from.instance);
  if (waits == waiting_.end() || waits->second.socket) return false;
  if (moved == Moved::all)
    waits->second.socket = std::move(guest.socket);
  else
    waiting_.erase(waits);
  return false;
} catch (const std::bad_alloc&) {
  return false;  // the guest may ask again
}

/// Reads the guest's question. True: the guest is a device of this job that this device can reach.
bool Joiner::hear(Guest& guest) {
  const Interface& interface = *shared_.interface;
  Address from;
  if (!handshake_.read(guest.message, ControlKind::join, from)) {
    if (!std::exchange(told_of_strangers_, true))
      shared_.services->log(3, "uct: who asks for an endpoint lacks the proof of this job's secret");
    return false;
  }
  if (from.transport != interface.transport() || !interface.reaches(from.device, from.interface))
    return false;
  guest.from = std::move(from);
  return true;
}

/// Whether this device has asked the guest, too, and its own question counts: it has the smaller instance,
/// and the question is with the guest.
bool Joiner::is_outranked(const Guest& guest) const noexcept {
  const Link* const link = link_that_asks(guest.from);
  return link != nullptr && handshake_.instance() < guest.from.instance && link->ask->is_with_peer();
}

/// The link to `peer` for which this device is asking; null: none.
Link* Joiner::link_that_asks(const Address& peer) const noexcept {
  Link* const link = links_->to_worker(peer.worker);
  const bool asks = link != nullptr && link->peer().instance == peer.instance && link->ask != nullptr;
  return asks && !link->dying ? link : nullptr;
}

/// Makes an endpoint, joins it with the guest's, and prepares the answer. False: the guest gets no endpoint.
bool Joiner::join_with(Guest& guest) {
  Interface& interface = *shared_.interface;
  const auto refused = [this](const Error& error) {
    shared_.services->log(3, error.context.c_str());
    return false;
  };
  auto made = interface.make_endpoint();
  if (!made) return refused(made.error());
  auto own = interface.endpoint_address(made->get());
  if (!own) return refused(own.error());
  if (auto joined = interface.join(made->get(), guest.from.device, endpoint_in(guest.message)); !joined)
    return refused(joined.error());
  // An endpoint that was made for this peer earlier is replaced: the peer has given up the one it was joined
  // with.
  waiting_.insert_or_assign(guest.from.instance, Waiting{*std::move(made), now_ms(), {}});
  // This device's own question is dropped before the guest has the answer.
  if (Link* const link = link_that_asks(guest.from)) link->ask.reset();
  guest.message = handshake_.join(ControlKind::joined, guest.from, address_, *own);
  guest.is_answered = true;
  return true;
}

/// Whether a guest with this instance waits for an answer.
bool Joiner::is_asked_by(std::uint64_t instance) const noexcept {
  return std::any_of(guests_.begin(), guests_.end(), [instance](const Guest& guest) {
    return guest.from.instance == instance && !guest.is_answered;
  });
}

/// Waits for the hello of a peer that has asked for an endpoint. OK: the hello has come, and the link has the
/// endpoint that was made for its peer. NO_RESOURCE: the hello is still to come. UNREACHABLE: the peer has
/// not asked, or has given up.
Status Joiner::wait_for_hello(Link& link) noexcept {
  const auto found = waiting_.find(link.peer().instance);
  if (found == waiting_.end()) return Status::unreachable;
  if (link.knows_peer()) return take(link) ? Status::ok : Status::unreachable;
  if (!found->second.is_given_up()) return Status::no_resource;
  waiting_.erase(found);
  return Status::unreachable;
}

void Joiner::drop_unused() noexcept {
  const std::uint64_t now = now_ms();
  for (auto& [instance, one] : waiting_)
    if (!one.is_given_up()) one.since_ms = now;
  std::erase_if(waiting_, [now](const auto& entry) { return now - entry.second.since_ms >= kHelloMs; });
}

}  // namespace stria::uct
