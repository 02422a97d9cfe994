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
      rndv_(context.settings.rndv, {this, &Worker::on_sent, &Worker::on_received, &Worker::on_refused}),
      atomics_({this, &Worker::on_atomic_ended}),
      eager_limit_(context.settings.eager_limit),
      overlaps_packing_(context.settings.overlaps_packing),
      copies_own_(context.settings.copies_own),
      next_check_(std::chrono::steady_clock::now()) {
  lock_.enable(mode == STRIA_THREAD_MULTIPLE);
  nobody_.state = Peer::State::failed;
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
  for (std::uint32_t i = 0; i < peers_.size(); ++i) peers_[i].link.inline_below = 0;
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
  out.fallbacks += rndv_.counters().fallbacks;
  out.unexpected_messages = unexpected_.size();
  out.unexpected_bytes = receiver_.in_use();
  out.unexpected_bytes_max = receiver_.in_use_max();
  out.posted_receives = posted_.size();
}

}  // namespace stria::tag
