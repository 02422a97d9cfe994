#include "transport/uct/joiner.hpp"

#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/format.hpp"
#include "transport/uct/clock.hpp"
#include "transport/uct/link.hpp"
#include "transport/uct/links.hpp"

namespace stria::uct {
namespace {

constexpr std::size_t kGuestsMost = 256;   // others wait in the door's queue
constexpr std::uint64_t kGuestMs = 10000;  // for a guest to say what it wants
constexpr std::uint64_t kHelloMs = 60000;  // for a peer that has hung up to say hello

std::span<const std::byte> endpoint_in(const Join& message) noexcept {
  return {message.endpoint, message.endpoint_bytes};
}

}  // namespace

bool wakes_by(const UniqueFd& events, const UniqueFd& socket) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLET;  // each thing that happens once: has_news takes it
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
  waiting_.clear();  // nothing was sent by them
}

Status Joiner::ask(Link& link) noexcept try {
  Interface& interface = *shared_.interface;
  const Address& peer = link.peer();
  const auto refused = [this](const Error& error) {
    shared_.services->log(3, error.context.c_str());
    return Status::io_error;
  };
  if (link.ask == nullptr) {
    auto made = interface.make_endpoint();
    if (!made) return refused(made.error());
    link.ask = std::make_unique<Ask>(*std::move(made));
    auto own = interface.endpoint_address(link.ask->endpoint());
    if (!own) return refused(own.error());
    link.ask->say(handshake_.join(ControlKind::join, peer, address_, *own));
  }
  Ask& ask = *link.ask;
  for (;;) {
    if (const Status status = ask.advance(peer.joining, events_); status != Status::ok) return status;
    Address from;
    if (handshake_.read(ask.answer(), ControlKind::joined, from) && from.instance == peer.instance) break;
    ask.try_next();
  }
  if (auto joined = interface.join(ask.endpoint(), peer.device, endpoint_in(ask.answer())); !joined)
    return refused(joined.error());
  link.endpoint = ask.release();
  link.ask.reset();
  return Status::ok;
} catch (const std::bad_alloc&) {
  return Status::no_resource;
}

uct_ep_h Joiner::take(std::uint64_t instance) noexcept {
  const auto found = waiting_.find(instance);
  if (found == waiting_.end()) return nullptr;
  const uct_ep_h endpoint = found->second.endpoint.release();
  waiting_.erase(found);
  return endpoint;
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
  while (guests_.size() < kGuestsMost) {
    Guest guest;
    guest.socket = accept_connection(door_);
    if (!guest.socket) break;
    guest.since_ms = now_ms();
    if (wakes_by(events_, guest.socket)) guests_.push_back(std::move(guest));
  }
  const bool were_full = guests_.size() == kGuestsMost;
  std::erase_if(guests_, [this](Guest& guest) { return !serve(guest); });
  if (were_full && guests_.size() < kGuestsMost) look_soon();  // the door says nothing of those in its queue
} catch (const std::bad_alloc&) {
  // A guest is dropped, and asks again if it will.
}

/// False: it is done with, or has to go.
bool Joiner::serve(Guest& guest) noexcept {
  const bool has_time = now_ms() - guest.since_ms < kGuestMs;
  if (guest.instance == 0) {
    const Moved moved = guest.came.receive(guest.socket, &guest.message, sizeof guest.message);
    if (moved == Moved::some) return has_time;
    try {
      if (moved == Moved::broken || !join_with(guest)) return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  const Moved moved = guest.went.send(guest.socket, &guest.message, sizeof guest.message);
  if (moved == Moved::some) return has_time;
  const auto waits = waiting_.find(guest.instance);
  if (moved == Moved::all && waits != waiting_.end()) waits->second.socket = std::move(guest.socket);
  return false;
}

/// Makes an endpoint for the guest, and the answer. False: it gets none.
bool Joiner::join_with(Guest& guest) {
  Interface& interface = *shared_.interface;
  Address from;
  if (!handshake_.read(guest.message, ControlKind::join, from)) {
    if (!std::exchange(told_of_strangers_, true))
      shared_.services->log(3, "uct: who asks for an endpoint lacks the proof of this job's secret");
    return false;
  }
  if (from.transport != interface.transport() || !interface.reaches(from.device, from.interface))
    return false;
  const auto refused = [this](const Error& error) {
    shared_.services->log(3, error.context.c_str());
    return false;
  };
  auto made = interface.make_endpoint();
  if (!made) return refused(made.error());
  auto own = interface.endpoint_address(made->get());
  if (!own) return refused(own.error());
  if (auto joined = interface.join(made->get(), from.device, endpoint_in(guest.message)); !joined)
    return refused(joined.error());
  // If there is one already, the peer has given up the endpoint that it was for.
  waiting_.insert_or_assign(from.instance, Waiting{*std::move(made), from.worker, now_ms(), {}});
  guest.instance = from.instance;
  guest.message = handshake_.join(ControlKind::joined, from, address_, *own);
  return true;
}

void Joiner::drop_unused(const Links& links) noexcept {
  const std::uint64_t now = now_ms();
  for (auto& [instance, one] : waiting_)
    if (is_open(one.socket) || links.to_worker(one.worker) != nullptr) one.since_ms = now;
  std::erase_if(waiting_, [now](const auto& entry) { return now - entry.second.since_ms >= kHelloMs; });
}

}  // namespace stria::uct
