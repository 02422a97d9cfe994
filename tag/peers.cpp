// The life of peers: a peer becomes known by an endpoint or by its own connection, is connected to on first
// use, and fails for good when its link ends after a message.
#include <utility>

#include "base/format.hpp"
#include "base/log.hpp"
#include "rndv/plan.hpp"
#include "tag/address.hpp"
#include "tag/eager_or_announced.hpp"
#include "tag/last_error.hpp"
#include "tag/peers.hpp"
#include "tag/rails.hpp"

namespace stria::tag {

Peers::Peers(const Settings& settings, const Devices& devices, Activity& activity, eager::Receiver& receiver,
             const FailPeer& fail) noexcept
    : settings_(settings), devices_(devices), activity_(activity), receiver_(receiver), fail_(fail) {
  nobody_.state = Peer::State::failed;
  nobody_.index = kNobody;
}

Result<Endpoint*> Peers::open(Worker& worker, const stria_endpoint_params_t& params) {
  auto parsed = parse_address({static_cast<const std::byte*>(params.address), params.address_bytes});
  if (!parsed) return std::move(parsed).error();
  Peer& peer = table_.add(parsed->worker_id);
  if (peer.address == nullptr) {
    std::vector<AddressStore::Part> parts;
    for (const auto& device : devices_)
      if (const auto part = parsed->part(device->name(), device->index); !part.empty())
        parts.push_back({device->number, part});
    if (const auto host = parsed->host(); !host.empty()) parts.push_back({kHostPart, host});
    peer.address = addresses_.keep(parts);
  }
  Endpoint* endpoint = free_endpoint_;
  if (endpoint != nullptr)
    free_endpoint_ = static_cast<Endpoint*>(endpoint->user);
  else
    endpoint = &endpoints_.append();
  *endpoint = Endpoint{&worker, &peer, params.user};
  if (params.endpoint_class == STRIA_CLASS_LOW_LATENCY && !peer.low_latency) {
    peer.low_latency = true;
    if (peer.state == Peer::State::up) ask_for_window(peer);
  }
  return endpoint;
}

void Peers::close(Endpoint* endpoint) noexcept {
  *endpoint = Endpoint{nullptr, nullptr, free_endpoint_};
  free_endpoint_ = endpoint;
}

Status Peers::connect(Peer& peer) noexcept {
  if (activity_.closing()) return Status::cancelled;
  if (peer.state == Peer::State::up) return Status::ok;
  if (peer.state == Peer::State::failed) {
    if (const auto known = why_lost_.find(peer.index); known != why_lost_.end() && !known->second.empty())
      set_last_error(known->second);
    return Status::peer_failed;
  }
  if (refused_.erase(peer.index) != 0) {
    set_last_error("no provider reaches the peer; the log has the reason of each");
    return Status::unreachable;
  }
  try {
    const Result<void> connected = connect_new(peer);
    if (connected) return Status::ok;
    set_last_error(connected.error().context);
    return connected.error().status;
  } catch (const std::bad_alloc&) {
    set_last_error("out of memory while connecting");
    return Status::io_error;
  }
}

Status Peers::reach(Peer& peer) noexcept {
  const Status connected = connect(peer);
  return connected == Status::ok && is_coming(peer) ? Status::in_progress : connected;
}

/// Whether the link has not reached the peer yet. A message that went by the link is an answer, too.
bool Peers::is_coming(Peer& peer) noexcept {
  if (!coming_.contains(peer.index)) return false;
  char error[512] = "";
  stria_link_t* link = nullptr;
  if (peer.send_sequence == 0 && peer.recv_sequence == 0 &&
      ask(devices_[peer.device], peer, link, error) != STRIA_OK)
    return true;  // also when the link is going down: link_down follows
  coming_.erase(peer.index);
  return false;
}

stria_status_t Peers::ask(const Device& device, Peer& peer, stria_link_t*& link,
                          std::span<char> error) noexcept {
  const std::span<const std::byte> part = part_of(peer.address, device.number);
  return device.provider->connect(device.handle, part.data(), static_cast<std::uint32_t>(part.size()), &peer,
                                  peer.low_latency ? 1 : 0, &link, error.data(),
                                  static_cast<std::uint32_t>(error.size()));
}

Peer* Peers::coming_by_other(const Device& device, std::uint64_t worker_id) noexcept {
  if (coming_.empty()) return nullptr;
  Peer* const peer = table_.find(worker_id);
  if (peer == nullptr || peer->state != Peer::State::up || peer->device == device.number) return nullptr;
  return is_coming(*peer) ? peer : nullptr;
}

Result<void> Peers::connect_new(Peer& peer, std::size_t first) {
  std::string reasons;
  bool has_failed = first > 0;  // a provider that both sides have, and that was to reach the peer
  if (has_failed)
    reasons =
        fmt::format("{}: its network does not reach the peer, as it has said", devices_[first - 1].label);
  Status answer = Status::unreachable;
  for (std::size_t i = first; i < devices_.size(); ++i) {
    const Device& device = devices_[i];
    const std::span<const std::byte> part = part_of(peer.address, device.number);
    if (part.empty()) {
      reasons += fmt::format("{}{}: not offered by the peer", reasons.empty() ? "" : "; ", device.label);
      continue;
    }
    char error[512] = "";
    stria_link_t* link = nullptr;
    const stria_status_t connected = ask(device, peer, link, error);
    const bool accepted = connected == STRIA_OK || connected == STRIA_IN_PROGRESS;
    if (accepted && link != nullptr) {
      if (connected == STRIA_IN_PROGRESS) coming_.insert(peer.index);
      link_up(peer, device, link);
      if (peer.link.link != link) coming_.erase(peer.index);  // the peer is up by another link
      if (has_failed && peer.link.link == link)
        next_provider_.tell(peer.worker_id, host_of(peer.address), reasons, device.label);
      if (peer.state == Peer::State::up) return {};
      return Error{Status::peer_failed, fmt::format("worker {:#x} was given up before", peer.worker_id)};
    }
    Status reason = accepted ? Status::io_error : transport::from_c(connected);
    has_failed |= reason != Status::unsupported && reason != Status::peer_failed;
    if (reason == Status::unsupported) reason = Status::unreachable;
    // When one provider knows that the peer is gone, it is gone for all of them.
    if (answer != Status::peer_failed) answer = reason;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", device.label,
                           accepted ? "it said yes and gave no link, which breaks its contract"
                                    : without_name(error, device.provider->name));
  }
  const bool gone = answer == Status::peer_failed;
  std::string text =
      fmt::format("worker {:#x} {} ({})", peer.worker_id, gone ? "is gone" : "cannot be reached", reasons);
  log::debug("{}", text);
  if (gone) lose(peer, text);
  return Error{answer, std::move(text)};
}

/// The peer is gone, and has no link that could go down: ends everything that names it.
void Peers::lose(Peer& peer, std::string_view why) noexcept {
  try {
    why_lost_[peer.index] = why;
  } catch (const std::bad_alloc&) {
    // The status alone says why, then.
  }
  {
    const Activity::Inside inside(activity_);  // fail_() runs callbacks
    fail_(peer, Status::peer_failed);
  }
  activity_.an_operation_ended();  // a sleeper's own request may be among those that ended
}

/// Whether the peer failed after a message went either way: one may be lost, and later ones would have no
/// place in the order. A peer whose first connection broke before that may come by another one.
bool Peers::is_lost(const Peer& peer) noexcept {
  return peer.state == Peer::State::failed && (peer.send_sequence != 0 || peer.recv_sequence != 0);
}

void Peers::link_up(Peer& peer, const Device& device, stria_link_t* link) noexcept {
  // The peer's own connection came in while this worker connected; or the peer failed for good.
  if (peer.state == Peer::State::up || is_lost(peer)) return;
  peer.device = device.number;
  peer.link.ops = device.ops;
  peer.link.link = link;
  peer.link.device = device.handle;
  peer.link.railed = peer.worker_id != activity_.worker_id() && Rails::are_possible(devices_, device);
  set_awaited(peer, false);
  peer.state = Peer::State::up;
  // A best path that is refused from the start counts as one fallback: no message tries it any more.
  const stria_link_limits_t limits = renew_limits(peer);
  if (limits.fallback != nullptr && *limits.fallback != '\0') ++fallbacks_;
  receiver_.peer_joined(peer);
}

stria_link_limits_t Peers::renew_limits(Peer& peer) noexcept {
  stria_link_limits_t limits{};
  if (peer.state != Peer::State::up) return limits;
  devices_[peer.device].provider->link_limits(peer.link.link, &limits);
  peer.link.take(limits);
  peer.link.self = peer.worker_id == activity_.worker_id() && !peer.link.offload;
  peer.eager_limit = eager_limit_of(peer.link, settings_);
  peer.link.inline_below = 0;
  if (limits.pio_max != 0 && !activity_.closing() && !is_own(peer)) {
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
    peer.link.inline_below =
        static_cast<std::uint16_t>(std::min({limits.pio_max + 1, peer.eager_limit + 1, kMost}));
  }
  want_window(peer, peer.low_latency && limits.pio_max == 0);
  return limits;
}

void Peers::set_awaited(Peer& peer, bool awaited) noexcept {
  if (peer.awaited == awaited) return;
  peer.awaited = awaited;
  peer.unmet = false;
  awaited ? ++awaited_ : --awaited_;
}

void Peers::want_window(Peer& peer, bool wanted) noexcept {
  if (peer.window_wanted == wanted) return;
  peer.window_wanted = wanted;
  wanted ? ++wishes_ : --wishes_;
}

Peer& Peers::joined(const Device& device, std::uint64_t worker_id, stria_link_t* link) noexcept {
  Peer* known = nullptr;
  try {
    known = &table_.add(worker_id);
  } catch (const std::bad_alloc&) {
    log::error("out of memory for worker {:#x}, which connected; what it sends is dropped", worker_id);
    return nobody_;
  }
  Peer& peer = *known;
  if (is_lost(peer)) {
    log::error("worker {:#x}, which was given up, connected again; what it sends is dropped", worker_id);
    return peer;
  }
  link_up(peer, device, link);
  if (peer.low_latency) {  // after this upcall: the provider is in the middle of making the link
    peer.window_due = true;
    activity_.add_to_backlog(peer);
  }
  return peer;
}

bool Peers::leave(Peer& peer) noexcept {
  if (peer.state == Peer::State::failed) return false;
  const bool was_up = std::exchange(peer.state, Peer::State::failed) == Peer::State::up;
  set_awaited(peer, false);
  peer.link.pio_below = peer.link.inline_below = 0;
  if (peer.linked()) peer.unlink();
  if (was_up) receiver_.peer_left(peer);
  coming_.erase(peer.index);
  want_window(peer, false);
  return true;
}

bool Peers::refuse(Peer& peer) noexcept {
  if (peer.state != Peer::State::up || peer.address == nullptr || peer.send_sequence != 0 ||
      peer.recv_sequence != 0 || peer.has_early || peer.has_late)
    return false;
  peer.state = Peer::State::failed;
  peer.link.pio_below = peer.link.inline_below = 0;
  receiver_.peer_left(peer);
  want_window(peer, false);
  coming_.erase(peer.index);
  return true;
}

bool Peers::reach_by_others(Peer& peer) noexcept try {
  peer.state = Peer::State::unconnected;
  const std::size_t next = peer.device + std::size_t{1};
  if (next < devices_.size() && connect_new(peer, next)) return true;
  if (peer.linked()) peer.unlink();
  return false;
} catch (const std::bad_alloc&) {
  if (peer.linked()) peer.unlink();
  return false;
}

void Peers::report_refusal(Peer& peer) noexcept try {
  refused_.insert(peer.index);
} catch (const std::bad_alloc&) {
  // The next call asks the providers again.
}

void Peers::await_unmet(Peer& peer) noexcept {
  await(peer);
  peer.unmet = peer.awaited;
}

void Peers::stop_inline() noexcept {
  for (std::uint32_t i = 0; i < size(); ++i) table_[i].link.inline_below = 0;
}

void Peers::describe(const Endpoint& endpoint, stria_endpoint_state_t& out) const noexcept {
  const Peer& peer = *endpoint.peer;
  out.peer = peer.worker_id;
  out.user = endpoint.user;
  out.connected = peer.state == Peer::State::up ? 1 : 0;
  out.provider = out.path = out.fallback = out.rendezvous = "";
  out.pio_mtu = out.pio_credits = 0;
  out.eager_limit = peer.eager_limit;
  if (peer.state != Peer::State::up) return;
  stria_link_limits_t limits{};
  const Device& device = devices_[peer.device];
  device.provider->link_limits(peer.link.link, &limits);
  out.provider = device.provider->name;
  out.path = limits.path != nullptr ? limits.path : "";
  out.fallback = limits.fallback != nullptr ? limits.fallback : "";
  out.pio_mtu = limits.pio_max;
  out.pio_credits = limits.pio_credits;
  out.rendezvous = rndv::schemes_of_link(peer.link, settings_.rndv);
}

}  // namespace stria::tag
