#include "tag/worker.hpp"

#include <sched.h>

#include <random>

#include "base/log.hpp"

namespace stria::tag {
namespace {

constexpr unsigned kPollBudget = 64;     // packets of one device before the others are looked after
constexpr unsigned kLookAtClock = 1024;  // progress calls between two looks at the clock
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
      receiver_(context.settings.unexpected_budget),
      peers_(context.settings, devices_, activity_, receiver_, {this, &Worker::on_broken}),
      rndv_(context.settings.rndv, {this, &Worker::on_sent, &Worker::on_received, &Worker::on_refused}),
      atomics_({this, &Worker::on_atomic_ended}),
      overlaps_packing_(context.settings.overlaps_packing),
      next_check_(std::chrono::steady_clock::now()) {
  lock_.enable(mode == STRIA_THREAD_MULTIPLE);
  ++context_.workers;
}

Result<std::unique_ptr<Worker>> Worker::open(Context& context, stria_thread_mode_t mode) {
  std::unique_ptr<Worker> worker(new Worker(context, mode));
  const stria_sink_t upcalls = {nullptr, &Worker::on_deliver, &Worker::on_peer_up, &Worker::on_link_down,
                                &Worker::on_link_changed};
  auto opened = worker->devices_.open(context, *worker, worker->id(), upcalls);
  if (!opened) return std::move(opened).error();
  return worker;
}

Worker::~Worker() {
  // Nobody hears the ends of what is left: the caller closes on purpose.
  using Clock = std::chrono::steady_clock;
  const std::chrono::milliseconds limit = std::min(context_.settings.close_timeout, kLongestClose);
  const Clock::time_point deadline = Clock::now() + limit;
  activity_.leave();
  drain(limit);
  activity_.close();
  // Callbacks start nothing by the short way either.
  peers_.stop_inline();
  end_receives(nullptr, Status::cancelled);
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i].state == Peer::State::up) fail_peer(peers_[i], Status::cancelled);
  }
  while (Unexpected* entry = unexpected_.first()) {
    unexpected_.remove(entry);
    free_unexpected(*entry);
  }
  while (Unexpected* entry = unexpected_.first_aside()) {
    unexpected_.let_go(entry);
    free_unexpected(*entry);
  }
  devices_.close(context_.memory, deadline);
  // The providers let go of the memory: what they had ends now.
  while (RmaOp* op = provider_rma_.pop_front()) complete(*Request::of(*op), Status::cancelled);
  atomics_.end_all(Status::cancelled);
  rndv_.end_all(Status::cancelled);
  regions_.for_each([](Region& region) { delete &region; });
  --context_.workers;
}

void Worker::drain(std::chrono::milliseconds limit) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (activity_.has_backlog() || !rndv_.idle() || !atomics_.idle() || rma_in_flight_ > 0) {
    const bool idle = progress() == 0;
    if (std::chrono::steady_clock::now() > deadline) {  // also while others keep it busy
      log::warn("a worker was closed with sends that no peer took within {} ms", limit.count());
      return;
    }
    if (idle) ::sched_yield();
  }
}

unsigned Worker::progress() noexcept {
  if (activity_.in_progress()) return 0;  // a callback asked; the outer call goes on
  activity_.begin_round();
  const unsigned handled = devices_.progress(kPollBudget);
  // Most rounds of a program that asks while it computes find nothing, and have nothing to go on with.
  const bool goes_on = handled != 0 || !rndv_.resting() || activity_.has_backlog() || activity_.armed();
  if (goes_on || quiet_ + 1 >= kLookAtClock) return end_round(handled);
  ++quiet_;
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
  if (++quiet_ >= kLookAtClock) {
    quiet_ = 0;
    check_liveness(false);
  }
  activity_.end_round();
  activity_.add_handled(handled);
  // The devices are not armed any more, and a sleeper wants to hear what was handled.
  if (activity_.armed() || handled != 0) activity_.an_operation_ended();
  return handled;
}

void* Worker::on_peer_up(void* self, std::uint64_t worker_id, stria_link_t* link) noexcept {
  const auto& device = *static_cast<Device*>(self);
  return &device.worker->peers_.joined(device, worker_id, link);
}

void Worker::on_link_down(void* self, void* peer, stria_status_t why) noexcept {
  const Status status = why == STRIA_OK ? Status::peer_failed : transport::from_c(why);
  static_cast<Device*>(self)->worker->fail_peer(*static_cast<Peer*>(peer), status);
}

void Worker::on_link_changed(void* self, void* peer) noexcept {
  static_cast<Device*>(self)->worker->peers_.renew_limits(*static_cast<Peer*>(peer));
}

void Worker::on_refused(void* self, const transport::LinkRef& link) noexcept {
  static_cast<Worker*>(self)->peers_.renew_limits(peer_of(link));
}

void Worker::on_broken(void* self, Peer& peer, Status why) noexcept {
  static_cast<Worker*>(self)->fail_peer(peer, why);
}

void Worker::fail_peer(Peer& peer, Status why) noexcept {
  if (!peers_.leave(peer)) return;
  activity_.add_handled(1);  // requests end: a wait is over
  early_.drop(peer, receiver_);
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
  if (!peers_.look_after()) next_check_ = std::min(next_check_, now + kSoon);
}

void Worker::counters(stria_counters_t& out) noexcept {
  const std::size_t size = out.size;
  out = counters_;
  out.size = size;
  out.sent_pio = sender_.counters().pio;
  out.sent_buffered = sender_.counters().buffered;
  out.received_get = rndv_.counters().get;
  out.received_mapped = rndv_.counters().mapped;
  out.received_mapped_both = rndv_.counters().mapped_both;
  out.received_both = rndv_.counters().both;
  out.received_pipeline = rndv_.counters().pipeline;
  out.fallbacks = peers_.fallbacks() + rndv_.counters().fallbacks;
  out.unexpected_messages = unexpected_.size();
  out.unexpected_bytes = receiver_.in_use();
  out.unexpected_bytes_max = receiver_.in_use_max();
  out.posted_receives = posted_.size();
}

}  // namespace stria::tag
