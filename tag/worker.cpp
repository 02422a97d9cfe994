#include "tag/worker.hpp"

#include <sched.h>

#include <random>

#include "base/format.hpp"
#include "base/log.hpp"
#include "tag/address.hpp"
#include "transport/capabilities.hpp"
#include "transport/device_config.hpp"
#include "transport/services.hpp"

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
      id_(random_id()),
      buffers_(context.settings.unexpected_budget),
      budget_(context.settings.unexpected_budget),
      rndv_(context.settings.rndv, {this, &Worker::on_sent, &Worker::on_received, &Worker::on_refused}),
      atomics_({this, &Worker::on_atomic_ended}),
      eager_limit_(context.settings.eager_limit),
      overlaps_packing_(context.settings.overlaps_packing),
      copies_own_(context.settings.copies_own),
      next_check_(std::chrono::steady_clock::now()) {
  lock_.enable(mode == STRIA_THREAD_MULTIPLE);
  threads_ = mode != STRIA_THREAD_SINGLE;
  nobody_.state = Peer::State::failed;
  ++context_.workers;
}

Result<std::unique_ptr<Worker>> Worker::open(Context& context, stria_thread_mode_t mode) {
  std::unique_ptr<Worker> worker(new Worker(context, mode));
  auto opened = worker->open_devices();
  if (!opened) return std::move(opened).error();
  worker->build_address();
  return worker;
}

Result<void> Worker::open_devices() {
  std::string reasons;
  for (const auto& loaded : context_.providers) {
    const stria_provider_t* provider = loaded->table;
    auto device = std::make_unique<Device>();
    device->worker = this;
    device->number = static_cast<std::uint8_t>(devices_.size());
    device->provider = provider;
    device->ops = &loaded->ops;
    device->sink = {device.get(), &Worker::on_deliver, &Worker::on_peer_up, &Worker::on_link_down,
                    &Worker::on_link_changed};
    const stria_device_params_t params = {
        .size = sizeof(params),
        .worker_id = id_,
        .job_secret = context_.job_secret.data(),
        .job_secret_bytes = static_cast<std::uint32_t>(context_.job_secret.size()),
        .sink = &device->sink,
        .services = &transport::services(),
        .config = transport::config_text,
        .config_self = &context_.config,
        .config_number = transport::config_number,
    };
    char error[512] = "";
    const stria_status_t opened = provider->open(&params, &device->handle, error, sizeof(error));
    if (opened != STRIA_OK || device->handle == nullptr) {
      const char* why =
          opened != STRIA_OK ? error : "it said yes and gave no device, which breaks its contract";
      log::warn("provider {} is not used: {}", provider->name, without_name(why, provider->name));
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", provider->name,
                             without_name(why, provider->name));
      continue;
    }
    device->address.resize(kMostPartBytes);
    const std::uint32_t needed = provider->address(device->handle, device->address.data(), kMostPartBytes);
    if (needed > kMostPartBytes) {
      provider->close(device->handle, 0);
      const std::string why =
          fmt::format("its part of the address has {} bytes, the limit is {}", needed, kMostPartBytes);
      log::warn("provider {} is not used: {}", provider->name, why);
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", provider->name, why);
      continue;
    }
    device->address.resize(needed);
    const stria_capabilities_t capabilities = transport::capabilities_of(*provider, device->handle);
    if ((capabilities.flags & STRIA_CAP_ATOMICS) != 0)
      device->atomics =
          (capabilities.flags & STRIA_CAP_MAP_MEMORY) != 0 ? Device::Atomics::cpu : Device::Atomics::adapter;
    polls_.push_back({provider->progress, device->handle});
    devices_.push_back(std::move(device));
    context_.memory.opened(*provider, devices_.back()->handle);
  }
  if (devices_.empty())
    return Error{Status::io_error, fmt::format("no provider could be opened ({})", reasons)};
  return {};
}

void Worker::build_address() {
  std::vector<AddressPart> parts;
  for (const auto& device : devices_) parts.push_back({device->provider->name, device->address});
  address_ = make_address(id_, parts);
  STRIA_CHECK(address_.size() <= STRIA_ADDRESS_MAX, "the parts of all devices fit");
}

Worker::~Worker() {
  // Nobody hears the ends of what is left: the caller closes on purpose.
  using Clock = std::chrono::steady_clock;
  const std::chrono::milliseconds limit = std::min(context_.settings.close_timeout, kLongestClose);
  const Clock::time_point deadline = Clock::now() + limit;
  leaving_ = true;
  drain(limit);
  closing_ = true;      // callbacks start nothing any more, nor by the short way,
  in_progress_ = true;  // and progress is none of theirs
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
  for (auto& device : devices_) {  // one limit for all
    context_.memory.closing(device->handle);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    device->provider->close(device->handle, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  }
  // The providers let go of the memory: what they had ends now.
  while (RmaOp* op = provider_rma_.pop_front()) complete(*Request::of(*op), Status::cancelled);
  atomics_.end_all(Status::cancelled);
  rndv_.end_all(Status::cancelled);
  regions_.for_each([](Region& region) { delete &region; });
  --context_.workers;
}

void Worker::drain(std::chrono::milliseconds limit) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!backlog_.empty() || !rndv_.idle() || !atomics_.idle() || rma_in_flight_ > 0) {
    const bool idle = progress() == 0;
    if (std::chrono::steady_clock::now() > deadline) {  // also while others keep it busy
      log::warn("a worker was closed with sends that no peer took within {} ms", limit.count());
      return;
    }
    if (idle) ::sched_yield();
  }
}

unsigned Worker::progress() noexcept {
  if (in_progress_) return 0;  // a callback asked; the outer call goes on
  in_progress_ = true;
  unsigned handled = 0;
  for (const Poll* poll = polls_.data(); poll != polls_.data() + polls_.size(); ++poll)
    handled += poll->progress(poll->device, kPollBudget);
  // Most rounds of a program that asks while it computes find nothing, and have nothing to go on with.
  const bool goes_on = handled != 0 || !rndv_.resting() || !backlog_.empty() || armed_;
  if (goes_on || quiet_ + 1 >= kLookAtClock) return end_round(handled);
  ++quiet_;
  in_progress_ = false;
  return 0;
}

unsigned Worker::end_round(unsigned handled) noexcept {
  if (!rndv_.resting()) handled += rndv_.progress();
  for (Peer* peer = backlog_.front(); peer != nullptr;) {
    Peer* next = backlog_.next(peer);
    handled += flush(*peer);
    peer = next;
  }
  if (++quiet_ >= kLookAtClock) {
    quiet_ = 0;
    check_liveness(false);
  }
  in_progress_ = false;
  handled_ += handled;
  // The devices are not armed any more, and a sleeper wants to hear what was handled.
  if (armed_ || sleepers_ != 0) [[unlikely]] {
    if (armed_ || handled != 0) wake();
  }
  return handled;
}

void Worker::counters(stria_counters_t& out) noexcept {
  const std::size_t size = out.size;
  out = counters_;
  out.size = size;
  out.received_get = rndv_.counters().get;
  out.received_mapped = rndv_.counters().mapped;
  out.received_mapped_both = rndv_.counters().mapped_both;
  out.received_both = rndv_.counters().both;
  out.received_pipeline = rndv_.counters().pipeline;
  out.fallbacks += rndv_.counters().fallbacks;
  out.unexpected_messages = unexpected_.size();
  out.unexpected_bytes = buffers_.in_use();
  out.unexpected_bytes_max = buffers_.in_use_max();
  out.posted_receives = posted_.size();
}

}  // namespace stria::tag
