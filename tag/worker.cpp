#include "tag/worker.hpp"

#include <sched.h>

#include <random>

#include "base/log.hpp"

namespace stria::tag {
namespace {

constexpr unsigned kPollBudget = 64;  // packets of one device before the other devices get their turn
constexpr std::chrono::milliseconds kLongestClose{3'600'000};

std::uint64_t random_id() {
  std::random_device source;
  std::uint64_t id = 0;
  while (id == 0) id = (static_cast<std::uint64_t>(source()) << 32) | source();
  return id;
}

}  // namespace

Worker::Worker(Context& context, stria_thread_mode_t mode)
    : context_(context),
      activity_(random_id(), mode != STRIA_THREAD_SINGLE),
      rails_(devices_),
      clock_pace_(ClockPace::Clock::now()),
      rndv_(context.settings.rndv,
            {this, &Worker::on_sent, &Worker::on_received,
             [](void* self, const transport::LinkRef& link) {
               static_cast<Worker*>(self)->peers_.renew_limits(peer_of(link));
             },
             [](void* self, const transport::LinkRef& link) {
               return static_cast<Worker*>(self)->rails_.of(peer_of(link));
             },
             [](void* self, const transport::LinkRef& link, const transport::LinkRef& rail) {
               static_cast<Worker*>(self)->rails_.renew_limits(peer_of(link), rail);
             }}),
      receives_(context.settings.unexpected_budget, peers_, activity_, rndv_, peer_failer(),
                {this, [](void* self) noexcept { return static_cast<Worker*>(self)->progress(); }}),
      peers_(context.settings, devices_, activity_, receives_.eager(), peer_failer()),
      sends_(context.settings, activity_, peers_, rndv_, receives_),
      regions_(devices_),
      remote_(devices_, activity_, peers_, rndv_, regions_),
      next_check_(ClockPace::Clock::now()) {
  lock_.enable(mode == STRIA_THREAD_MULTIPLE);
  ++context_.workers;
}

FailPeer Worker::peer_failer() noexcept {
  return {this, [](void* self, Peer& peer, Status why) noexcept {
            static_cast<Worker*>(self)->fail_peer(peer, why, Tell::by_all);
          }};
}

Result<std::unique_ptr<Worker>> Worker::open(Context& context, stria_thread_mode_t mode) {
  std::unique_ptr<Worker> worker(new Worker(context, mode));
  const stria_sink_t upcalls = {nullptr,
                                &Worker::on_deliver,
                                &Worker::on_peer_up,
                                &Worker::on_link_down,
                                &Worker::on_link_changed,
                                &Worker::on_place};
  auto opened = worker->devices_.open(context, *worker, worker->id(), upcalls);
  if (!opened) return std::move(opened).error();
  return worker;
}

Worker::~Worker() {
  // What is left ends with CANCELLED, and peers get no farewell: the application closes the worker on
  // purpose.
  using Clock = std::chrono::steady_clock;
  const std::chrono::milliseconds limit = std::min(context_.settings.close_timeout, kLongestClose);
  const Clock::time_point deadline = Clock::now() + limit;
  activity_.leave();
  drain(limit);
  activity_.close();
  // From here on callbacks start nothing by the short ways either.
  peers_.stop_inline();
  receives_.stop_short_way();
  receives_.end_posted(nullptr, Status::cancelled);
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i].state == Peer::State::up) fail_peer(peers_[i], Status::cancelled, Tell::by_none);
  }
  receives_.drop_unexpected();
  devices_.close(context_.memory, deadline);
  // The providers are closed and use no memory any more: the operations that they had end now.
  remote_.end_all(Status::cancelled);
  rndv_.end_all(Status::cancelled);
  receives_.end_all_placing(Status::cancelled);
  --context_.workers;
}

void Worker::drain(std::chrono::milliseconds limit) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (activity_.has_backlog() || !rndv_.idle() || !remote_.idle()) {
    const bool idle = progress() == 0;
    if (std::chrono::steady_clock::now() > deadline) {  // also while peers keep the worker busy
      log::warn("a worker was closed with sends that no peer took within {} ms", limit.count());
      return;
    }
    if (idle) ::sched_yield();
  }
}

unsigned Worker::progress() noexcept {
  if (activity_.in_progress()) return 0;  // called inside a callback; the outer call goes on
  activity_.begin_round();
  const unsigned handled = devices_.progress(kPollBudget);
  // Most rounds of a program that polls while it computes find nothing, and leave nothing to go on with.
  const bool goes_on = handled != 0 || !rndv_.resting() || activity_.has_backlog() || activity_.armed();
  if (goes_on || clock_pace_.is_due()) return end_round(handled);
  clock_pace_.pass();
  activity_.end_round();
  return 0;
}

unsigned Worker::end_round(unsigned handled) noexcept {
  if (!rndv_.resting()) handled += rndv_.progress();
  for (Peer* peer = activity_.backlog().front(); peer != nullptr;) {
    Peer* next = activity_.backlog().next(peer);
    handled += flush(*peer);
    peer = next;
  }
  if (clock_pace_.is_due())
    check_liveness(false);
  else
    clock_pace_.pass();
  activity_.end_round();
  activity_.add_handled(handled);
  // The devices are not armed any more, or a thread that sleeps is to learn what was handled.
  if (activity_.armed() || handled != 0) activity_.an_operation_ended();
  return handled;
}

void* Worker::on_peer_up(void* self, std::uint64_t worker_id, stria_link_t* link) noexcept {
  const auto& device = *static_cast<Device*>(self);
  return &device.worker->joined(device, worker_id, link);
}

void Worker::on_link_down(void* self, void* peer, stria_status_t why) noexcept {
  const Status status = why == STRIA_OK ? Status::peer_failed : transport::from_c(why);
  const auto& device = *static_cast<Device*>(self);
  Peer& gone = *static_cast<Peer*>(peer);
  device.worker->farewells_.link_down(gone, device);
  // A link by another device than the main link's is a rail; or the peer was reached by another device
  // meanwhile.
  if (gone.state == Peer::State::up && gone.device == device.number) {
    if (status != Status::unreachable || !device.worker->refused(gone))
      device.worker->fail_peer(gone, status, Tell::by_rails);
  } else if (gone.index == kNobody) {
    return;
  } else if (const auto* rail = device.worker->rails_.take_down(gone, device.number); rail != nullptr) {
    device.worker->rndv_.fail_rail(gone.link, *rail);
  }
  device.worker->rndv_.end_placing(gone.link, device.number);
  device.worker->receives_.end_placing(gone, device.number);
  device.worker->activity_.add_handled(1);  // requests may have ended, also of a peer that failed before
}

void Worker::on_link_changed(void* self, void* peer) noexcept {
  const auto& device = *static_cast<Device*>(self);
  Peer& changed = *static_cast<Peer*>(peer);
  if (changed.device == device.number)
    device.worker->peers_.renew_limits(changed);
  else
    device.worker->rails_.renew_limits(changed, device.number);
}

void Worker::fail_peer(Peer& peer, Status why, Tell tell) noexcept {
  const bool was_up = peer.state == Peer::State::up;
  if (!peers_.leave(peer)) return;
  activity_.add_handled(1);  // requests end: a wait is over
  sends_.fail(peer, why);
  rndv_.fail_link(peer.link, why);
  rails_.leave(peer, tell != Tell::by_none ? &farewells_ : nullptr);
  if (was_up && tell == Tell::by_all) farewells_.owe(peer, devices_[peer.device], peer.link.link);
  remote_.fail(peer, why);
  receives_.fail(peer, why);
  if (was_up && tell != Tell::by_none) activity_.add_to_backlog(peer);
}

void Worker::check_liveness(bool force) noexcept {
  const auto now = std::chrono::steady_clock::now();
  clock_pace_.was_read(now);
  if (!force && now < next_check_) return;
  next_check_ = now + context_.settings.liveness;
  constexpr auto kSoon = std::chrono::milliseconds(10);
  // Upcalls of the check end requests; a callback that calls progress() must not come back into the provider.
  const Activity::Inside inside(activity_);
  devices_.check();
  farewells_.send();
  if (!peers_.look_after()) next_check_ = std::min(next_check_, now + kSoon);
}

// Sends what waits for the peer, credits first. The peer leaves the backlog when nothing waits any more.
unsigned Worker::flush(Peer& peer) noexcept {
  unsigned moved = 0;
  if (peer.state != Peer::State::up) {
    farewells_.send();
    if (peer.linked()) peer.unlink();
    return 0;
  }
  if (peer.has_late) [[unlikely]] {
    moved += receives_.take_late(peer);
    if (peer.state != Peer::State::up) return moved;
  }
  if (peer.window_due) peers_.ask_for_window(peer);
  if (activity_.leaving()) peer.grant.due = 0;
  if (peer.grant.due > 0) {
    if (eager::Sender::send_credit(peer) == Status::no_resource) return moved;
    ++moved;
  }
  if (peer.answers_due || !peer.one_sided.empty()) {
    moved += remote_.flush(peer);
    if (peer.state != Peer::State::up) return moved;
  }
  if (!sends_.flush(peer, moved)) return moved;
  // A callback may have received something meanwhile, and credit is due again.
  if (peer.grant.due == 0 && !peer.answers_due && peer.one_sided.empty() && !peer.has_late && peer.linked())
    peer.unlink();
  return moved;
}

void Worker::on_received(void* self, rndv::RecvOp& op) noexcept {
  Request& request = *Request::of(op);
  if (request.kind == RequestKind::get) static_cast<Worker*>(self)->remote_.engine_ended();
  if (op.outcome != Status::ok) {
    complete(request, op.outcome);
    return;
  }
  request.info.received = op.length;
  complete(request, request.info.length > op.length ? Status::truncated : Status::ok);
}

void Worker::on_sent(void* self, rndv::SendOp& op) noexcept {
  Request& request = *Request::of(op);
  if (request.kind == RequestKind::put) static_cast<Worker*>(self)->remote_.engine_ended();
  complete(request, op.outcome);
}

void Worker::deregister_region(Region* region) noexcept {
  regions_.withdraw(*region);
  // Puts and gets that this worker's engine serves go on until they have ended, or their peer has died.
  while (rndv_.region_busy(region->id)) {
    if (progress() > 0) continue;
    check_liveness(false);
    ::sched_yield();
  }
  Regions::remove(region);
}

void Worker::counters(stria_counters_t& out) const noexcept {
  const std::size_t size = out.size;
  out = {};
  out.size = size;
  sends_.counters(out);
  receives_.counters(out);
  const rndv::Counters& rndv = rndv_.counters();
  out.received_get = rndv.get;
  out.received_mapped = rndv.mapped;
  out.received_mapped_both = rndv.mapped_both;
  out.received_pipeline = rndv.pipeline;
  out.rail_pieces = rndv.by_rails;
  out.fallbacks = peers_.fallbacks() + rndv.fallbacks;
}

}  // namespace stria::tag
