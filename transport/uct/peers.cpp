#include "transport/uct/peers.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/format.hpp"
#include "transport/uct/clock.hpp"

namespace stria::uct {

Result<Link*> Peers::connect(std::span<const std::byte> bytes, void* cookie) {
  auto decoded = decode_address(bytes);
  if (!decoded) return std::move(decoded).error();
  const Address peer = *std::move(decoded);
  if (peer.check != peer.expected_check(parts_.handshake.secret()))
    return Error{Status::unreachable, "uct: the peer has another job secret"};
  if (Link* const known = parts_.links.to_worker(peer.worker)) {
    known->cookie = cookie;
    return known;
  }
  auto opened = open(peer, Link::kHello);
  if (!opened) return opened;
  (*opened)->cookie = cookie;
  pay(**opened);
  return opened;
}

/// Watches the peer's process by the kernel, if it is on this host. Errors: peer_failed, the peer is gone;
/// unreachable or, by shared memory to a peer on another host, unsupported: neither the kernel nor the
/// transport would report the peer's death.
Result<Watch> Peers::watch(const Address& peer) const {
  Watch out;
  const bool is_here = can_watch(parts_.here, peer.where);
  if (is_here) {
    out = Watch::of(peer.where, peer.instance);
    if (out.is_gone())
      return Error{Status::peer_failed,
                   fmt::format("uct: the device of worker {:#x} is closed, or its process {} "
                               "has ended",
                               peer.worker, peer.where.pid)};
  }
  if (!out.sees() && !parts_.shared.limits.tells_failures)
    return Error{!is_here && parts_.shared.limits.in_memory ? Status::unsupported : Status::unreachable,
                 fmt::format("uct: {} does not tell when a peer dies, and worker {:#x} cannot be watched: {}",
                             parts_.shared.interface->transport(), peer.worker,
                             is_here ? "there are no descriptors for it"
                                     : "it is on another host or in another namespace")};
  return out;
}

/// Makes a link to the peer. `owes`: what the link owes the peer from the start, kHello or kWelcome.
Result<Link*> Peers::open(const Address& peer, unsigned owes) {
  Interface& interface = *parts_.shared.interface;
  const bool own = peer.instance == parts_.handshake.instance();
  Watch watching;
  if (!own) {
    const bool is_alike = peer.transport == interface.transport();
    if (is_alike) {
      // Before UCX is asked: for a process that is gone UCX would search in vain and complain.
      auto watched = watch(peer);
      if (!watched) return std::move(watched).error();
      watching = *std::move(watched);
    }
    if (!is_alike || !interface.reaches(peer.device, peer.interface))
      return Error{
          is_alike && parts_.shared.limits.in_memory ? Status::unsupported : Status::unreachable,
          fmt::format(
              "uct: {}/{} does not reach the peer's device, of transport {}{}", interface.transport(),
              interface.device(), peer.transport,
              is_alike ? "" : "; name the same transports in the same order at both (STRIA_UCT_TRANSPORT)")};
  }
  const std::size_t links = parts_.links.count() + 1;  // reserved, so that owe() and fail() never allocate
  parts_.shared.owing.reserve(links);
  parts_.ends.reserve(links);
  Link& link = parts_.links.add(parts_.shared, peer);
  link.since_ms = now_ms();
  link.watch = std::move(watching);
  if (own) {
    link.be_own();
    if (auto reached = reach_itself(link); !reached) {
      parts_.links.remove(link);
      return std::move(reached).error();
    }
    return &link;
  }
  if (parts_.shared.limits.joins) {
    // An endpoint that waits for this peer is used only if the peer says hello. Otherwise it may be left from
    // an earlier attempt, and the peer may have destroyed the endpoint that it is joined with.
    const bool has_one = (owes & Link::kWelcome) != 0 && parts_.joiner.take(link);
    owe(link, has_one ? owes : Link::kEndpoint | owes);
    return &link;
  }
  if (parts_.shared.inside_ucx) {
    owe(link, Link::kEndpoint | owes);
    return &link;
  }
  auto made = interface.connect(peer.device, peer.interface);
  if (!made) {
    parts_.links.remove(link);
    return std::move(made).error();
  }
  link.endpoint = *made;
  owe(link, owes);
  return &link;
}

/// With keys, connects the device to itself: its gets, puts and atomics to itself go by the adapter, too.
Result<void> Peers::reach_itself(Link& link) {
  if (!parts_.shared.limits.keys) return {};
  auto made = parts_.shared.interface->connect_to_itself();
  if (!made) return std::move(made).error();
  link.endpoint = (*made)[0].release();
  link.echo = std::move((*made)[1]);
  return {};
}

void Peers::owe(Link& link, unsigned what) noexcept {
  if (link.owed == 0) parts_.shared.owing.push_back(&link);
  link.owed |= what;
}

Status Peers::send(Link& link, unsigned what) noexcept {
  if (what == Link::kEndpoint) return make_endpoint(link);
  const Handshake& handshake = parts_.handshake;
  if (what == Link::kHello) {
    const Hello hello = handshake.hello(link.peer(), link.own_prefix(), parts_.address);
    return link.send_control(&hello, Handshake::bytes_of(hello));
  }
  if (what == Link::kWelcome) {
    const Welcome welcome = handshake.welcome(link.peer(), link.peer_prefix(), link.own_prefix());
    return link.send_control(&welcome, sizeof welcome);
  }
  const Control control{link.peer_prefix().bits(),
                        what == Link::kBye ? ControlKind::bye : ControlKind::parted};
  return link.send_control(&control, sizeof control);
}

/// Makes the link's endpoint, but never from inside a function of UCX: if UCX is handling an endpoint to the
/// same peer at that moment, the transport would find that one and replace it by the new one.
Status Peers::make_endpoint(Link& link) noexcept {
  if (parts_.shared.inside_ucx) return Status::no_resource;
  if (link.dying) return Status::peer_failed;
  if (parts_.shared.limits.joins) return join_endpoint(link);
  auto made = parts_.shared.interface->connect(link.peer().device, link.peer().interface);
  if (made) {
    link.endpoint = *made;
    return Status::ok;
  }
  link.broken = true;
  parts_.shared.services->log(3, made.error().context.c_str());
  parts_.ends.fail(link, Status::unreachable, "");
  return Status::unreachable;
}

Status Peers::join_endpoint(Link& link) noexcept {
  constexpr std::uint64_t kSightMs = 1000;  // time for the watch to see that a peer that hung up has died
  Status status = parts_.joiner.ask(link);
  if (status == Status::ok || status == Status::no_resource) return status;
  if (status == Status::unreachable && link.watch.is_gone())
    status = Status::peer_failed;
  else if (status == Status::unreachable && link.watch.sees() && now_ms() - link.ask->gave_up_ms() < kSightMs)
    return Status::no_resource;
  link.broken = true;
  parts_.ends.fail(link, status, "its endpoint cannot be joined with one of the peer");
  return status;
}

/// Does what the link owes, in the order of the bits. True: nothing is owed any more.
bool Peers::pay(Link& link) noexcept {
  for (unsigned what = Link::kEndpoint; what <= Link::kParted; what <<= 1) {
    if ((link.owed & what) == 0) continue;
    if (send(link, what) != Status::ok) return false;
    link.owed &= ~what;
  }
  std::erase(parts_.shared.owing, &link);
  return true;
}

void Peers::step() noexcept {
  const std::vector<Link*>& owing = parts_.shared.owing;
  for (std::size_t i = 0; i < owing.size();)
    if (!pay(*owing[i])) ++i;
}

void Peers::take(std::span<const std::byte> message) noexcept {
  Control control;
  if (message.size() < sizeof control) return refuse("a control message is cut");
  std::memcpy(&control, message.data(), sizeof control);
  if (control.magic != kMagic) return refuse("a control message is none");
  if (control.kind == ControlKind::hello) {
    try {
      take_hello(message);
    } catch (const std::bad_alloc&) {
      refuse("there is no memory for a peer that connects");
    }
    return;
  }
  Link* const link = parts_.links.find(Prefix(control.prefix));
  if (link == nullptr || link->is_own()) return;  // the message is for a link that has ended
  if (control.kind == ControlKind::welcome) take_welcome(message, *link);
  if (control.kind == ControlKind::bye) take_bye(*link);
  if (control.kind == ControlKind::parted) link->peer_left = true;
}

void Peers::take_hello(std::span<const std::byte> message) {
  Hello hello;
  Address from;
  if (!parts_.handshake.read(message, hello, from))
    return refuse("a hello lacks the proof of this job's secret");
  if (closing_ || from.instance == parts_.handshake.instance()) return;
  const Prefix reply(hello.who.reply_prefix);
  if (Link* const known = parts_.links.to_worker(from.worker)) {
    const bool same = known->peer().instance == from.instance && !known->dying;
    if (same && !known->knows_peer()) {  // both sides connected: each hello serves as the other's answer
      known->set_peer_prefix(reply);
      pay(*known);
      return;
    }
    if (same && known->peer_prefix() == reply) return;  // the hello came before
    // The peer has given up its end of the earlier link, or is a new process.
    known->why = Status::peer_failed;
    parts_.ends.take_down(*known);
  }
  Link* const link = answer(hello, from);
  if (link == nullptr) return;
  pay(*link);
  link->cookie = parts_.sink.peer_up(parts_.sink.self, from.worker, reinterpret_cast<stria_link_t*>(link));
}

/// Makes a link to a peer that said hello. Null (after a message in the log): it cannot be made.
Link* Peers::answer(const Hello& hello, const Address& from) {
  auto opened = open(from, Link::kWelcome);
  if (!opened) {
    parts_.shared.services->log(
        3, fmt::format("a worker connects and cannot be answered: {}", opened.error().context).c_str());
    return nullptr;
  }
  (*opened)->set_peer_prefix(Prefix(hello.who.reply_prefix));
  return *opened;
}

void Peers::take_welcome(std::span<const std::byte> message, Link& link) noexcept {
  Welcome welcome;
  if (!parts_.handshake.read(message, link.peer(), welcome))
    return refuse("a welcome lacks the proof of this job's secret");
  if (!link.knows_peer()) link.set_peer_prefix(Prefix(welcome.reply_prefix));
}

void Peers::take_bye(Link& link) noexcept {
  link.peer_left = true;
  if (closing_ || link.dying) return;
  owe(link, Link::kParted);
  pay(link);
  parts_.ends.fail(link, Status::peer_failed, "");
}

void Peers::refuse(const char* text) noexcept {
  if (std::exchange(told_of_strangers_, true)) return;
  parts_.shared.services->log(
      3, fmt::format("uct: what came by {} is dropped: {}", parts_.shared.path, text).c_str());
}

void Peers::lost(uct_ep_h endpoint, ucs_status_t why) noexcept {
  Link* const link = parts_.links.by_endpoint(endpoint);
  if (link == nullptr) return;
  link->broken = true;
  const bool certain = link->is_up() || link->watch.is_gone();
  parts_.ends.fail(*link, certain ? Status::peer_failed : Status::unreachable, ucs_status_string(why));
}

/// UCX's tcp has the kernel probe a silent connection at the end that made it. The other end, while it only
/// waits, notices an unplugged cable only if it calls uct_ep_check(), which sends a few bytes.
void Peers::look_after() noexcept {
  constexpr std::uint64_t kAskMs = 10000;  // the default of UCX_TCP_KEEPIDLE
  parts_.joiner.drop_unused();
  const std::uint64_t now = now_ms();
  const Limits& limits = parts_.shared.limits;
  const bool asks = limits.asks && (!limits.keeps_alive || now - asked_ms_ >= kAskMs);
  if (asks) asked_ms_ = now;
  parts_.links.for_each([&](Link& link) {
    if (link.dying || link.is_own()) return;
    if (asks && link.is_up() && !link.watch.sees())
      static_cast<void>(uct_ep_check(link.endpoint, 0, nullptr));
    if (link.watch.is_gone()) {
      link.broken = true;
      parts_.ends.fail(link, Status::peer_failed, "its device is closed, or its process has ended");
    } else if (!link.is_up() && !link.watch.sees() && now - link.since_ms > parts_.connect_ms) {
      link.broken = true;
      parts_.ends.fail(link, Status::unreachable, "it does not answer (STRIA_UCT_CONNECT_MS)");
    }
  });
}

void Peers::say_bye() noexcept {
  closing_ = true;
  parts_.links.for_each([&](Link& link) {
    if (link.is_own() || link.dying) return;
    if (!link.is_up()) {
      // Nothing was sent. UCX would go on connecting, and complain if the peer closes, too.
      std::erase(parts_.shared.owing, &link);
      link.ask.reset();
      if (link.endpoint != nullptr) uct_ep_destroy(std::exchange(link.endpoint, nullptr));
      return;
    }
    owe(link, Link::kBye);
    pay(link);
  });
}

bool Peers::have_parted() const noexcept {
  bool all = true;
  parts_.links.for_each([&](const Link& link) {
    all = all && (!link.is_up() || link.is_own() || link.dying || link.peer_left);
  });
  return all;
}

}  // namespace stria::uct
