// The life of peers: opened by an endpoint or by their own first word, connected on first use, failed for
// good once a message was sent.
#include <utility>

#include "base/format.hpp"
#include "base/log.hpp"
#include "tag/address.hpp"
#include "tag/worker.hpp"

namespace stria::tag {

Result<Endpoint*> Worker::open_endpoint(const stria_endpoint_params_t& params) {
  auto parsed = parse_address({static_cast<const std::byte*>(params.address), params.address_bytes});
  if (!parsed) return std::move(parsed).error();
  Peer& peer = peers_.add(parsed->worker_id);
  if (peer.address == nullptr) {
    std::vector<AddressStore::Part> parts;
    for (const auto& device : devices_)
      if (const auto part = parsed->part(device->provider->name); !part.empty())
        parts.push_back({device->number, part});
    peer.address = addresses_.keep(parts);
  }
  Endpoint* endpoint = free_endpoint_;
  if (endpoint != nullptr)
    free_endpoint_ = static_cast<Endpoint*>(endpoint->user);
  else
    endpoint = &endpoints_.append();
  *endpoint = Endpoint{this, &peer, params.user};
  if (params.endpoint_class == STRIA_CLASS_LOW_LATENCY && !peer.low_latency) {
    peer.low_latency = true;
    if (peer.state == Peer::State::up) ask_for_window(peer);
  }
  return endpoint;
}

void Worker::close_endpoint(Endpoint* endpoint) noexcept {
  *endpoint = Endpoint{nullptr, nullptr, free_endpoint_};
  free_endpoint_ = endpoint;
}

Status Worker::connect(Peer& peer) noexcept {
  if (activity_.closing()) return Status::cancelled;
  if (peer.state == Peer::State::up) return Status::ok;
  if (peer.state == Peer::State::failed) {
    if (const auto known = trouble_.find(peer.index); known != trouble_.end() && !known->second.why.empty())
      set_last_error(known->second.why);
    return Status::peer_failed;
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

Result<void> Worker::connect_new(Peer& peer) {
  std::string reasons;
  Status answer = Status::unreachable;
  for (const auto& device : devices_) {
    const std::span<const std::byte> part = part_of(peer.address, device->number);
    if (part.empty()) {
      reasons +=
          fmt::format("{}{}: not offered by the peer", reasons.empty() ? "" : "; ", device->provider->name);
      continue;
    }
    char error[512] = "";
    stria_link_t* link = nullptr;
    const stria_status_t connected =
        device->provider->connect(device->handle, part.data(), static_cast<std::uint32_t>(part.size()), &peer,
                                  peer.low_latency ? 1 : 0, &link, error, sizeof(error));
    const bool accepted = connected == STRIA_OK || connected == STRIA_IN_PROGRESS;
    if (accepted && link != nullptr) {
      link_up(peer, *device, link);
      if (peer.state == Peer::State::up) return {};
      return Error{Status::peer_failed, fmt::format("worker {:#x} was given up before", peer.worker_id)};
    }
    const Status reason = accepted ? Status::io_error : transport::from_c(connected);
    // A provider that knows that the peer is gone knows it for all of them.
    if (answer != Status::peer_failed) answer = reason;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", device->provider->name,
                           accepted ? "it said yes and gave no link, which breaks its contract"
                                    : without_name(error, device->provider->name));
  }
  const bool gone = answer == Status::peer_failed;
  std::string text =
      fmt::format("worker {:#x} {} ({})", peer.worker_id, gone ? "is gone" : "cannot be reached", reasons);
  log::debug("{}", text);
  if (gone) lose(peer, text);
  return Error{answer, std::move(text)};
}

/// The peer is gone, and no link of it was there to go down: all that names it ends.
void Worker::lose(Peer& peer, std::string_view why) noexcept {
  try {
    trouble_[peer.index].why = why;
  } catch (const std::bad_alloc&) {
    // The status says the most important.
  }
  {
    const Activity::Inside inside(activity_);  // as in every callback
    fail_peer(peer, Status::peer_failed);
  }
  activity_.an_operation_ended();  // a sleeper's own request may be among those that ended
}

/// A peer that failed after a message, either way: that may be lost, and what came after it would have no
/// place in its order. One whose first connection broke may come by another one.
bool Worker::is_lost(const Peer& peer) noexcept {
  return peer.state == Peer::State::failed && (peer.send_sequence != 0 || peer.recv_sequence != 0);
}

void Worker::link_up(Peer& peer, const Device& device, stria_link_t* link) noexcept {
  // Its own connection came in while we connected; or it failed for good.
  if (peer.state == Peer::State::up || is_lost(peer)) return;
  peer.device = device.number;
  peer.link.ops = device.ops;
  peer.link.link = link;
  peer.link.device = device.handle;
  set_awaited(peer, false);
  peer.state = Peer::State::up;
  // A path that is refused from the start is one fallback: no message tries it any more.
  const stria_link_limits_t limits = renew_limits(peer);
  if (limits.fallback != nullptr && *limits.fallback != '\0') ++counters_.fallbacks;
  receiver_.peer_joined(peer);
}

stria_link_limits_t Worker::renew_limits(Peer& peer) noexcept {
  stria_link_limits_t limits{};
  if (peer.state != Peer::State::up) return limits;
  devices_[peer.device].provider->link_limits(peer.link.link, &limits);
  peer.link.take(limits);
  peer.link.self = peer.worker_id == id() && !peer.link.offload;
  const std::uint32_t most = std::max(limits.pio_max, limits.eager_max);
  peer.eager_limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(eager_limit_, most));
  if (peer.link.self && peer.link.can_get && overlaps_packing_)
    peer.eager_limit = std::min(peer.eager_limit, rndv::kSelfEager);
  else if (peer.link.far && overlaps_packing_ && !rndv_.flows())
    peer.eager_limit = std::min(peer.eager_limit, rndv::kFarEager);
  peer.link.inline_below = 0;
  if (limits.pio_max != 0 && !activity_.closing() && !is_own(peer)) {
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
    peer.link.inline_below =
        static_cast<std::uint16_t>(std::min({limits.pio_max + 1, peer.eager_limit + 1, kMost}));
  }
  want_window(peer, peer.low_latency && limits.pio_max == 0);
  return limits;
}

void Worker::set_awaited(Peer& peer, bool awaited) noexcept {
  if (peer.awaited == awaited) return;
  peer.awaited = awaited;
  peer.unmet = false;
  awaited ? ++awaited_ : --awaited_;
}

/// A peer that died before it connected, or before this worker saw that it had, has no link that could go
/// down. To connect to it tells, and costs nothing that the message that is waited for would not cost. False:
/// the time for one call was used up before all were asked, or there was no memory.
bool Worker::meet_awaited() noexcept try {
  using Clock = std::chrono::steady_clock;
  constexpr auto kLongest = std::chrono::milliseconds(2);
  constexpr unsigned kUnmetEvery = 64;  // rounds: to ask may take seconds where a host does not answer
  if (awaited_ == 0) return true;
  const bool all = next_awaited_ == 0 && meetings_++ % kUnmetEvery == 0;
  const auto end = Clock::now() + kLongest;
  for (; next_awaited_ < peers_.size() && awaited_ != 0; ++next_awaited_) {
    Peer& peer = peers_[next_awaited_];
    if (!peer.awaited || (peer.unmet && !all)) continue;
    peer.unmet = !connect_new(peer);  // no call of the application asked, so none is told the reason
    if (Clock::now() > end) {
      ++next_awaited_;
      return false;
    }
  }
  next_awaited_ = 0;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void Worker::want_window(Peer& peer, bool wanted) noexcept {
  if (peer.window_wanted == wanted) return;
  peer.window_wanted = wanted;
  wanted ? ++wishes_ : --wishes_;
}

// The peer connected first, so that its provider did not know of our wish, or it had no window then.
// Connecting once more tells it; that there is none for us is no error.
void Worker::ask_for_window(Peer& peer) noexcept try {
  peer.window_due = false;
  const Device& device = devices_[peer.device];
  const std::span<const std::byte> part = part_of(peer.address, peer.device);
  if (part.empty()) return;
  char error[512] = "";
  stria_link_t* link = nullptr;
  const stria_status_t connected =
      device.provider->connect(device.handle, part.data(), static_cast<std::uint32_t>(part.size()), &peer, 1,
                               &link, error, sizeof(error));
  if (connected != STRIA_OK && connected != STRIA_IN_PROGRESS) log::debug("{}", error);
  renew_limits(peer);
} catch (const std::bad_alloc&) {
  // It is a wish: the next time, perhaps.
}

// A window comes back when another peer of theirs goes, and nobody tells us. So wishes are repeated, some of
// them each time that peers are looked after, all in turn.
void Worker::ask_for_windows_again() noexcept {
  constexpr unsigned kWishes = 8;
  unsigned asked = 0;
  for (std::uint32_t i = wishes_ == 0 ? 0 : peers_.size(); i > 0 && asked < kWishes; --i) {
    if (next_wish_ >= peers_.size()) next_wish_ = 0;
    Peer& peer = peers_[next_wish_++];
    if (!peer.window_wanted || peer.state != Peer::State::up) continue;
    ask_for_window(peer);
    ++asked;
  }
}

void Worker::on_refused(void* self, const transport::LinkRef& link) noexcept {
  static_cast<Worker*>(self)->renew_limits(peer_of(link));
}

void* Worker::on_peer_up(void* self, std::uint64_t worker_id, stria_link_t* link) noexcept {
  auto& device = *static_cast<Device*>(self);
  Worker& worker = *device.worker;
  Peer* known = nullptr;
  try {
    known = &worker.peers_.add(worker_id);
  } catch (const std::bad_alloc&) {
    log::error("out of memory for worker {:#x}, which connected; what it sends is dropped", worker_id);
    return &worker.nobody_;
  }
  Peer& peer = *known;
  if (is_lost(peer)) {
    log::error("worker {:#x}, which was given up, connected again; what it sends is dropped", worker_id);
    return &worker.nobody_;
  }
  worker.link_up(peer, device, link);
  if (peer.low_latency) {  // after this upcall: the provider is in the middle of making the link
    peer.window_due = true;
    worker.activity_.add_to_backlog(peer);
  }
  return &peer;
}

void Worker::on_link_down(void* self, void* peer, stria_status_t why) noexcept {
  const Status status = why == STRIA_OK ? Status::peer_failed : transport::from_c(why);
  static_cast<Device*>(self)->worker->fail_peer(*static_cast<Peer*>(peer), status);
}

void Worker::on_link_changed(void* self, void* peer) noexcept {
  static_cast<Device*>(self)->worker->renew_limits(*static_cast<Peer*>(peer));
}

void Worker::fail_peer(Peer& peer, Status why) noexcept {
  if (peer.state == Peer::State::failed) return;
  const bool was_up = std::exchange(peer.state, Peer::State::failed) == Peer::State::up;
  activity_.add_handled(1);  // requests end: a wait is over
  set_awaited(peer, false);
  peer.link.pio_below = peer.link.inline_below = 0;
  if (peer.linked()) peer.unlink();
  if (was_up) receiver_.peer_left(peer);
  want_window(peer, false);
  if (peer.has_early) {
    auto& early = trouble_.find(peer.index)->second.early;
    for (const auto& [sequence, stashed] : early)
      if (wire::has_payload(stashed.header)) receiver_.consumed(peer, stashed.payload.size());
    early.clear();
    peer.has_early = false;
  }
  while (rndv::Operation* op = peer.pending.pop_front()) {
    Request& request = *Request::of(*op);
    rndv_.abandon(request.body.send);
    complete(request, why);
  }
  rndv_.fail_link(peer.link, why);
  end_one_sided(peer, why);
  peer.answers_due = false;
  atomics_.fail_link(peer.link, why);
  if (peer.has_late) take_late(peer, why);
  // What it announced, or had begun to write, cannot come any more, and must not take a receive that others
  // can match; what came whole stays.
  unexpected_.remove_if([&](Unexpected& entry) {
    if (entry.source != peer.index || (entry.what() != Unexpected::Kind::announced && !is_half(entry)))
      return false;
    free_unexpected(entry);
    return true;
  });
  // Receives that name the peer end; those from any source stay while others can match them.
  end_receives(&peer, why);
}

void Worker::check_liveness(bool force) noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (!force && now < next_check_) return;
  next_check_ = now + context_.settings.liveness;
  constexpr auto kSoon = std::chrono::milliseconds(10);
  // Its upcalls end requests; a callback that asks for progress must not come back into the provider.
  const Activity::Inside inside(activity_);
  devices_.check();
  ask_for_windows_again();
  if (!meet_awaited()) next_check_ = std::min(next_check_, now + kSoon);
}

void Worker::endpoint_state(const Endpoint& endpoint, stria_endpoint_state_t& out) noexcept {
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
  const rndv::Options& options = context_.settings.rndv;
  const bool shares = options.shares && limits.can_put != 0 && limits.pio_max != 0;
  out.rendezvous = rndv::schemes_of_link(options.force, limits.can_get != 0, limits.can_map != 0,
                                         limits.offload != 0, peer.link.self, shares);
}

}  // namespace stria::tag
