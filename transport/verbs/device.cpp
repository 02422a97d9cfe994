#include "transport/verbs/device.hpp"

#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/format.hpp"

namespace stria::verbs {
namespace {

std::vector<std::byte> secret_of(const transport::DeviceParams& params) {
  const auto* const secret = static_cast<const std::byte*>(params.job_secret);
  return {secret, secret + params.job_secret_bytes};
}

}  // namespace

Device::Device(std::unique_ptr<Adapter> adapter, const Settings& settings,
               const transport::DeviceParams& params)
    : worker_id_(params.worker_id),
      shared_(*params.services, settings, std::move(adapter)),
      receives_(shared_.adapter->pd, shared_.adapter->srq, kHeadBytes + settings.eager_bytes,
                settings.credits + packets_beside_credits(shared_.adapter->traits.iwarp)),
      connector_({*shared_.adapter, shared_.settings, *params.services, receives_, worker_id_},
                 secret_of(params)),
      links_(shared_.adapter->max_links),
      moves_(shared_),
      keys_(shared_, worker_id_),
      peers_({shared_, *params.sink, links_, connector_, worker_id_}),
      receiver_({shared_, *params.sink, links_, keys_, peers_}),
      completions_(shared_, links_),
      ends_({shared_, *params.sink, links_, keys_, receiver_, connector_}) {
  shared_.moves = &moves_;
  shared_.completions = &completions_;
  shared_.ends = &ends_;
}

Result<std::unique_ptr<Device>> Device::open(const transport::DeviceParams& params) {
  if (params.size < sizeof params)
    return Error{Status::invalid,
                 fmt::format("verbs: device parameters of {} bytes, {} wanted", params.size, sizeof params)};
  if (params.worker_id == 0) return Error{Status::invalid, "verbs: worker id 0"};
  if (params.sink == nullptr || params.services == nullptr)
    return Error{Status::invalid, "verbs: device parameters without sink or services"};
  auto settings = read_settings(params);
  if (!settings) return std::move(settings).error();
  auto adapter = Adapter::open(*settings);
  if (!adapter) return std::move(adapter).error();
  auto device = open_on(*std::move(adapter), params);
  if (!device) return device;
  if (auto started = (*device)->start(); !started) return std::move(started).error();
  return device;
}

Result<std::unique_ptr<Device>> Device::open_on(std::unique_ptr<Adapter> adapter,
                                                const transport::DeviceParams& params) {
  auto settings = read_settings(params);
  if (!settings) return std::move(settings).error();
  std::unique_ptr<Device> device(new Device(std::move(adapter), *settings, params));
  if (auto opened = device->open_pools(); !opened) return std::move(opened).error();
  return device;
}

Result<void> Device::open_pools() {
  const Adapter& adapter = *shared_.adapter;
  const Settings& settings = shared_.settings;
  const hw::VerbsTraits& traits = adapter.traits;
  if (auto opened = shared_.slots.open(adapter.pd, settings.send_buffers, kHeadBytes + settings.eager_bytes);
      !opened)
    return std::move(opened).error();
  // As many atomics may be under way on the device as one link may have requests; further ones are refused
  // with no_resource.
  if (shared_.can.has_atomics)
    if (auto opened = shared_.words.open(adapter.pd, kSendDepth, sizeof(std::uint64_t)); !opened)
      return std::move(opened).error();
  shared_.regions.open({.pd = adapter.pd,
                        .may_bind = traits.has_windows(),
                        .sink_rights = traits.iwarp ? unsigned{IBV_ACCESS_REMOTE_WRITE} : 0u,
                        .keep_bytes = settings.cache_bytes,
                        .watch = settings.memory_watch},
                       *shared_.services, shared_.counters);
  keys_.open();
  receiver_.open(receives_, adapter.max_links);
  return {};
}

Result<void> Device::start() {
  log_limits();
  if (auto started = connector_.start(); !started) return std::move(started).error();
  events_.reset(::epoll_create1(EPOLL_CLOEXEC));
  const auto watch = [&](int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    return ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  };
  if (!events_ || !watch(shared_.adapter->completions->fd) || !watch(connector_.fd()))
    return Error{Status::io_error, fmt::format("verbs: epoll: {}", std::strerror(errno))};
  return {};
}

void Device::capabilities(transport::Capabilities& out) noexcept {
  const hw::VerbsTraits& traits = shared_.adapter->traits;
  out = {};
  const std::uint64_t backed = hw::capability_bits_of(traits);
  // The adapter's facts that are passed on. Masked atomics and on-demand paging are not, as the provider does
  // not use them.
  constexpr std::uint64_t kFacts = STRIA_CAP_INVALIDATE_FENCE | STRIA_CAP_WINDOW_1 | STRIA_CAP_WINDOW_2A |
                                   STRIA_CAP_WINDOW_2B | STRIA_CAP_ZERO_BASED | STRIA_CAP_COMPOSITE |
                                   STRIA_CAP_XRC | STRIA_CAP_LOOPBACK_BLOCKING;
  out.flags = backed & kFacts;
  // Without windows a key is a region, made and ended by system calls: that works on every adapter.
  out.lacks = (STRIA_CAP_SEND_INVALIDATE | STRIA_CAP_ATOMICS) & ~backed;
  if (!shared_.can.can_put) out.lacks |= STRIA_CAP_PUT;
  // Equal blocks need nothing of the adapter: the key names them, and the reader asks for each by itself.
  out.flags |= STRIA_CAP_STRIDED;
  out.strided_depth = 1;
  if (shared_.can.pio_max > 0) {
    out.pio_max = shared_.can.pio_max;
    out.pio_windows = shared_.adapter->max_links;
    out.pio_mtu = shared_.can.pio_mtu();
    out.pio_window_bytes = shared_.settings.credits * shared_.can.pio_mtu();
  }
  out.eager_max = shared_.settings.eager_bytes;
  out.key_bits = 8;
  out.max_sge = traits.max_sge;
  out.max_keys = shared_.settings.keys;
}

std::uint32_t Device::address(void* buffer, std::uint32_t bytes) noexcept {
  Address address{};
  address.worker = worker_id_;
  shared_.adapter->fill_address(address);
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
  return peers_.connect(address, peer);
}

}  // namespace stria::verbs
