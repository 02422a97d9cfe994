// The scheduler of a device: among everything that is due it picks the next event at random, under the
// fabric's lock, and tells it without the lock.
#include <limits>

#include "transport/fake/event.hpp"
#include "transport/fake/zcopy.hpp"

namespace stria::fake {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

}  // namespace

unsigned Device::progress(unsigned budget) noexcept {
  return run(
      "progress",
      [&] {
        ++step_;
        wakeup_.disarm();
        return fabric_->chance(fabric_->options().idle_percent[index_]) ? 0 : budget;
      },
      [&] { return next_event(); });
}

void Device::check() noexcept {
  std::size_t at = 0;  // an upcall may add links
  static_cast<void>(run(
      "check", [] { return std::numeric_limits<unsigned>::max(); },
      [&]() -> Event {
        for (; at < links_.size(); ++at) {
          if (!links_[at].peer_gone()) continue;
          if (Event event = next_event_of_lost(links_[at]); event.kind != Event::Kind::none) return event;
        }
        return {};
      }));
}

Device::Event Device::deliver(Link& link, Path path) noexcept {
  QueuedPacket& next = link.front(path);
  if (Event event = place_more(link, next); event.kind != Event::Kind::none) return event;
  if (next.was_left) next.growth.end(next.payload);
  Event event{.kind = Event::Kind::packet, .link = &link, .cookie = link.cookie(), .packet = link.take(path)};
  // A key that its owner ended in the meantime is just as unusable.
  if (event.packet.ends_key.bytes != 0) static_cast<void>(keys_->remove(event.packet.ends_key));
  return event;
}

Device::Event Device::finish(std::size_t access) noexcept {
  const Access done = accesses_[access];
  accesses_.erase(accesses_.begin() + static_cast<std::ptrdiff_t>(access));
  done.link->access_ended();
  const Status status = done.link->perform(done);
  if (status == Status::ok && done.finish.kind != 0) done.link->send_finish(done.finish, done.key);
  return {.kind = Event::Kind::access, .link = done.link, .completion = done.completion, .status = status};
}

/// None: there is no link to do it to.
Device::Event Device::change_a_distance() noexcept {
  if (links_.size() == 0) return {};
  Link& link = links_[fabric_->random(links_.size() - 1)];
  if (!link.announced() || link.is_down()) return {};
  link.change_distance();
  ++fabric_->statistics().distances;
  return {.kind = Event::Kind::distance, .link = &link, .cookie = link.cookie()};
}

// One of everything that is due now, each with the same chance.
Device::Event Device::next_event() noexcept {
  if (fabric_->chance(fabric_->options().far_changes_percent))
    if (Event event = change_a_distance(); event.kind != Event::Kind::none) return event;
  struct Candidate {
    Event::Kind kind = Event::Kind::none;
    Link* link = nullptr;
    Path path = Path::pio;
    std::size_t access = 0;
  } chosen;
  std::uint64_t seen = 0;
  const auto consider = [&](const Candidate& candidate) {
    if (fabric_->random(seen++) == 0) chosen = candidate;
  };
  for (std::size_t i = 0; i < accesses_.size(); ++i)
    if (accesses_[i].due <= step_) consider({.kind = Event::Kind::access, .access = i});
  for (std::size_t i = 0; i < zcopy_sends_.size(); ++i)
    if (zcopy_sends_[i]->is_due(step_)) consider({.kind = Event::Kind::sent, .access = i});
  const std::vector<Link*>& busy = links_.busy();
  fabric_->statistics().looks += busy.size();
  for (Link* link : busy) {
    if (link->announce_due(step_)) consider({.kind = Event::Kind::up, .link = link});
    for (const Path path : {Path::pio, Path::buffered})
      if (link->due(path, step_)) consider({.kind = Event::Kind::packet, .link = link, .path = path});
    if (link->down_due(step_)) consider({.kind = Event::Kind::down, .link = link});
  }
  switch (chosen.kind) {
    case Event::Kind::access:
      return finish(chosen.access);
    case Event::Kind::packet:
      return deliver(*chosen.link, chosen.path);
    case Event::Kind::down:
      return next_event_of_lost(*chosen.link);
    case Event::Kind::up:
      chosen.link->set_announced();
      return {.kind = Event::Kind::up, .link = chosen.link};
    case Event::Kind::sent:
      return end_zcopy_send(chosen.access);
    case Event::Kind::ask:
    case Event::Kind::placing:
    case Event::Kind::distance:
    case Event::Kind::none:
      break;
  }
  return {};
}

// What is left of a link whose peer is gone, due or not: everything it received, its accesses, then its end.
Device::Event Device::next_event_of_lost(Link& link) noexcept {
  if (!link.announced()) {
    link.set_announced();
    return {.kind = Event::Kind::up, .link = &link};
  }
  for (const Path path : {Path::pio, Path::buffered})
    if (link.due(path, kNever)) return deliver(link, path);
  for (std::size_t i = 0; i < accesses_.size(); ++i)
    if (accesses_[i].link == &link) return finish(i);
  for (std::size_t i = 0; i < zcopy_sends_.size(); ++i)
    if (zcopy_sends_[i]->link == &link) return end_zcopy_send(i);
  if (link.is_down()) return {};
  link.set_down();
  return {.kind = Event::Kind::down, .link = &link, .cookie = link.cookie(), .status = link.why_gone()};
}

/// Without the lock: the upcall may send, connect and register.
void Device::dispatch(Event event) noexcept {
  switch (event.kind) {
    case Event::Kind::up: {
      void* cookie =
          sink_->peer_up(sink_->self, event.link->peer_worker(), reinterpret_cast<stria_link_t*>(event.link));
      const std::lock_guard lock(fabric_->mutex());
      if (!dead_) event.link->set_cookie(cookie);
      break;
    }
    case Event::Kind::ask:
      ask(event);
      break;
    case Event::Kind::packet:
      hand_over(event);
      break;
    case Event::Kind::distance:
      sink_->link_changed(sink_->self, event.cookie);
      break;
    case Event::Kind::down:
      sink_->link_down(sink_->self, event.cookie, transport::to_c(event.status));
      break;
    case Event::Kind::access:
      event.completion->done(event.completion, transport::to_c(event.status));
      break;
    case Event::Kind::placing:  // done already, under the lock
    case Event::Kind::sent:     // told as the end of an access
    case Event::Kind::none:
      break;
  }
}

}  // namespace stria::fake
