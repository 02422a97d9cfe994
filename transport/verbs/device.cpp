#include "transport/verbs/device.hpp"

#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/format.hpp"

namespace stria::verbs {

Device::Device(const transport::DeviceParams& params)
    : sink_(params.sink), services_(params.services), worker_id_(params.worker_id) {}

Result<std::unique_ptr<Device>> Device::open(const transport::DeviceParams& params) {
  if (params.size < sizeof params)
    return Error{Status::invalid,
                 fmt::format("verbs: device parameters of {} bytes, {} wanted", params.size, sizeof params)};
  if (params.worker_id == 0) return Error{Status::invalid, "verbs: worker id 0"};
  if (params.sink == nullptr || params.services == nullptr)
    return Error{Status::invalid, "verbs: device parameters without sink or services"};
  std::unique_ptr<Device> device(new Device(params));
  if (auto started = device->start(params); !started) return std::move(started).error();
  return device;
}

Result<void> Device::start(const transport::DeviceParams& params) {
  auto settings = read_settings(params);
  if (!settings) return std::move(settings).error();
  settings_ = *std::move(settings);
  auto adapter = Adapter::open(settings_);
  if (!adapter) return std::move(adapter).error();
  if (auto prepared = prepare(*std::move(adapter), params); !prepared) return std::move(prepared).error();
  tell_limits();
  if (auto started = connector_->start(); !started) return std::move(started).error();
  events_.reset(::epoll_create1(EPOLL_CLOEXEC));
  const auto watch = [&](int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  };
  if (!events_ || !watch(adapter_->completions->fd) || !watch(connector_->fd()))
    return Error{Status::io_error, fmt::format("verbs: epoll: {}", std::strerror(errno))};
  return {};
}

Result<std::unique_ptr<Device>> Device::open_on(std::unique_ptr<Adapter> adapter,
                                                const transport::DeviceParams& params) {
  std::unique_ptr<Device> device(new Device(params));
  auto settings = read_settings(params);
  if (!settings) return std::move(settings).error();
  device->settings_ = *std::move(settings);
  if (auto prepared = device->prepare(std::move(adapter), params); !prepared)
    return std::move(prepared).error();
  return device;
}

/// The pools, for an adapter that is there.
Result<void> Device::prepare(std::unique_ptr<Adapter> adapter, const transport::DeviceParams& params) {
  adapter_ = std::move(adapter);
  const hw::VerbsTraits& traits = adapter_->traits;
  const std::uint32_t packet_bytes = kHeadBytes + settings_.eager_bytes;
  receives_ = std::make_unique<ReceiveBuffers>(adapter_->pd, adapter_->srq, packet_bytes,
                                               settings_.credits + packets_beside_credits(traits.iwarp));
  if (auto opened = slots_.open(adapter_->pd, settings_.send_buffers, packet_bytes); !opened)
    return std::move(opened).error();
  // As many atomics may be under way as requests of one link; more wait for those.
  if (has_atomics())
    if (auto opened = words_.open(adapter_->pd, kSendDepth, sizeof(std::uint64_t)); !opened)
      return std::move(opened).error();
  regions_.open(adapter_->pd, traits.has_windows(), traits.iwarp ? unsigned{IBV_ACCESS_REMOTE_WRITE} : 0u,
                settings_.cache_bytes, settings_.memory_watch, *services_, counters_);
  settings_.keys = traits.has_windows() ? std::min(settings_.keys, traits.max_windows) : settings_.keys;
  keys_.open(adapter_->pd, regions_, traits.has_windows(), settings_.keys, counters_);
  if (adapter_->strided) keys_.open_strided(*adapter_->strided, traits.strided.entries);
  pio_max_ = traits.inline_bytes > kHeadBytes
                 ? std::min({traits.inline_bytes - kHeadBytes, settings_.eager_bytes, kMostShort})
                 : 0;
  sends_invalidate_ = traits.send_invalidate && traits.has_windows();
  path_ = fmt::format("{}: {} queue pair, {}", adapter_->name, traits.iwarp ? "iWARP" : "RC",
                      !traits.has_windows() ? "reads through a region for each message"
                      : adapter_->strided   ? "reads through memory windows and strided keys"
                                            : "reads through memory windows");
  links_ = std::make_unique<Links>(adapter_->max_links);
  credits_due_.reserve(adapter_->max_links);

  const auto* secret = static_cast<const std::byte*>(params.job_secret);
  connector_ = std::make_unique<Connector>(
      Connector::Params{*adapter_, settings_, *services_, *receives_, worker_id_,
                        std::vector<std::byte>(secret, secret + params.job_secret_bytes)});
  return {};
}

Device::~Device() {
  close(0);
}

/// Windows go before queue pairs, queue pairs before what they use.
void Device::close(int timeout_ms) noexcept {
  if (closed_ || connector_ == nullptr) return;
  closed_ = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  const auto is_idle = [&] {
    reap();
    return std::ranges::all_of(links_->all(), [](const auto& link) { return link->dying || link->settle(); });
  };
  while (!is_idle() && std::chrono::steady_clock::now() < end) ::sched_yield();
  connector_->stop();
  // Queue pairs are in error: no adapter touches the memory of moves any more. They let go of it, untold.
  for (const auto& link : links_->all()) {
    link->dying = true;
    link->abandon();
  }
  while (Move* move = stalled_.pop_front()) move->link->resume(*move);
  keys_.close();
  connector_->destroy_all();
  regions_.close();
  tell_counts();
}

void Device::capabilities(transport::Capabilities& out) noexcept {
  const hw::VerbsTraits& traits = adapter_->traits;
  out = {};
  const std::uint64_t backed = hw::capability_bits_of(traits);
  // What this provider uses of the adapter; masked atomics and paging are not among it.
  constexpr std::uint64_t kFacts = STRIA_CAP_INVALIDATE_FENCE | STRIA_CAP_WINDOW_1 | STRIA_CAP_WINDOW_2A |
                                   STRIA_CAP_WINDOW_2B | STRIA_CAP_ZERO_BASED | STRIA_CAP_COMPOSITE |
                                   STRIA_CAP_XRC | STRIA_CAP_LOOPBACK_BLOCKING;
  out.flags = backed & kFacts;
  // Without windows a key is a region, made and ended by system calls: that works on every adapter.
  out.lacks = (STRIA_CAP_SEND_INVALIDATE | STRIA_CAP_ATOMICS) & ~backed;
  if (!can_put()) out.lacks |= STRIA_CAP_PUT;
  // The key says the blocks, and the reader asks for each: whatever the adapter.
  out.flags |= STRIA_CAP_STRIDED;
  out.strided_depth = 1;
  if (pio_max_ > 0) {
    out.pio_max = pio_max_;
    out.pio_windows = adapter_->max_links;
    out.pio_mtu = pio_mtu();
    out.pio_window_bytes = settings_.credits * pio_mtu();
  }
  out.eager_max = settings_.eager_bytes;
  out.key_bits = 8;
  out.max_sge = traits.max_sge;
  out.max_keys = settings_.keys;
}

std::uint32_t Device::address(void* buffer, std::uint32_t bytes) noexcept {
  Address address{};
  address.worker = worker_id_;
  adapter_->fill_address(address);
  if (bytes >= sizeof address) std::memcpy(buffer, &address, sizeof address);
  return sizeof address;
}

Result<Link*> Device::connect(const void* bytes, std::uint32_t length, void* peer, int) {
  Address address{};
  if (length != sizeof address)
    return Error{Status::invalid,
                 fmt::format("verbs: an address of {} bytes, {} wanted", length, sizeof address)};
  std::memcpy(&address, bytes, sizeof address);
  if (address.magic != kHelloMagic || address.worker == 0 || (address.family != 4 && address.family != 6))
    return Error{Status::invalid, "verbs: these bytes are no address of this provider"};
  if (address.version != kVersion)
    return Error{Status::unreachable, fmt::format("verbs: the peer's provider has version {}, this has {}",
                                                  address.version, kVersion)};
  if (Link* const known = links_->to_worker(address.worker)) {
    if (known->dying) return Error{Status::unreachable, "verbs: the peer's earlier link is being ended"};
    known->cookie = peer;
    known->announced = true;
    return known;
  }
  if (links_->is_full())
    return Error{Status::no_resource,
                 fmt::format("verbs: all {} links are in use (STRIA_VERBS_LINKS)", adapter_->max_links)};
  Link& link = links_->add(*this, address.worker);
  link.cookie = peer;
  link.announced = true;
  try {
    connector_->connect(address);
  } catch (const std::bad_alloc&) {
    links_->remove(link);
    throw;
  }
  return &link;
}

}  // namespace stria::verbs
