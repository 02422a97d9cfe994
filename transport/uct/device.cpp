#include "transport/uct/device.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>

#include "base/format.hpp"
#include "transport/uct/clock.hpp"
#include "transport/uct/version.hpp"

namespace stria::uct {
namespace {

std::span<const std::byte> secret_of(const transport::DeviceParams& params) noexcept {
  return {static_cast<const std::byte*>(params.job_secret), params.job_secret_bytes};
}

/// The capabilities that a device without keys lacks.
constexpr std::uint64_t kNeedKeys = STRIA_CAP_FAST_REGISTER | STRIA_CAP_LOCAL_INVALIDATE |
                                    STRIA_CAP_SEND_INVALIDATE | STRIA_CAP_GET | STRIA_CAP_PUT |
                                    STRIA_CAP_ATOMICS | STRIA_CAP_OFFLOAD;

}  // namespace

Result<std::unique_ptr<Device>> Device::open(const transport::DeviceParams& params) {
  if (params.size < sizeof params || params.worker_id == 0 || params.sink == nullptr ||
      params.services == nullptr)
    return Error{Status::invalid, "uct: a device needs a worker id, a sink and services"};
  if (auto fits = check_loaded_version(); !fits) return std::move(fits).error();
  auto settings = read_settings(params);
  if (!settings) return std::move(settings).error();
  std::unique_ptr<Device> made(new Device(*settings, params));
  if (auto started = made->start(*settings); !started) return std::move(started).error();
  return made;
}

Device::Device(const Settings& settings, const transport::DeviceParams& params)
    : sink_(*params.sink),
      here_(own_whereabouts()),
      handshake_(params.worker_id, random_word(), secret_of(params)),
      operations_(shared_),
      moves_(shared_, operations_),
      ends_(shared_, sink_, links_),
      joiner_(shared_, handshake_, address_),
      peers_({shared_, sink_, links_, ends_, handshake_, here_, address_, joiner_, settings.connect_ms}),
      receiver_({shared_, sink_, links_, peers_, ends_, keys_}) {
  shared_.services = params.services;
  shared_.ends = &ends_;
  shared_.operations = &operations_;
  shared_.moves = &moves_;
  shared_.keys = &keys_;
}

Result<void> Device::start(const Settings& settings) {
  auto door = Door::open(handshake_.instance());
  if (!door) return std::move(door).error();
  door_ = *std::move(door);
  const Interface::Calls calls{this,
                               [](void* self, Am id, std::span<const std::byte> bytes, bool lasts) noexcept {
                                 return static_cast<Device*>(self)->receiver_.arrived(id, bytes, lasts);
                               },
                               [](void* self, uct_ep_h endpoint, ucs_status_t why) noexcept {
                                 static_cast<Device*>(self)->peers_.lost(endpoint, why);
                               }};
  auto opened = Interface::open(settings, calls);
  if (!opened) return std::move(opened).error();
  interface_ = *std::move(opened);
  const Wanted taken{interface_->transport(), interface_->device()};
  if (auto single = check_is_single(settings.list, settings.index, taken); !single) return single;
  shared_.interface = interface_.get();
  shared_.limits = interface_->limits();
  keys_.open(interface_->domain(), *shared_.services);
  shared_.path = fmt::format("uct {}/{}", interface_->transport(), interface_->device());
  if (shared_.limits.joins)
    if (auto joins = joiner_.open(); !joins) return joins;
  if (auto made = make_address(); !made) return made;
  if (auto made = make_events(); !made) return made;
  report(settings.transport.empty()
             ? "STRIA_UCT_TRANSPORT is empty, and no other provider of stria drives this"
             : "named by STRIA_UCT_TRANSPORT");
  return {};
}

Result<void> Device::make_address() {
  auto device = interface_->device_address();
  if (!device) return std::move(device).error();
  auto interface = interface_->interface_address();
  if (!interface) return std::move(interface).error();
  Address address{handshake_.instance(),
                  handshake_.worker(),
                  0,
                  here_,
                  shared_.limits.eager_max,
                  shared_.limits.zcopy_max,
                  interface_->transport(),
                  *std::move(device),
                  *std::move(interface),
                  joiner_.place()};
  address.check = address.expected_check(handshake_.secret());
  auto encoded = encode_address(address);
  if (!encoded) return std::move(encoded).error();
  address_ = *std::move(encoded);
  return {};
}

Result<void> Device::make_events() {
  if (!shared_.limits.wakes) return {};
  events_.reset(::epoll_create1(EPOLL_CLOEXEC));
  shared_.wakeup.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  for (const int fd : {interface_->event_fd(), shared_.wakeup.get(), joiner_.event_fd()}) {
    if (fd < 0) continue;
    epoll_event event{};
    event.events = EPOLLIN;
    if (!events_ || ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
      return Error{Status::io_error, fmt::format("uct: no descriptor to sleep on: {}", std::strerror(errno))};
  }
  return {};
}

void Device::report(std::string_view why) const {
  const Limits& limits = shared_.limits;
  shared_.services->log(
      2, fmt::format(
             "uct: {}/{} ({}), short packets up to {} B, buffered ones up to {} B, out of memory up to {} "
             "B, {}, {}, {}",
             interface_->transport(), interface_->device(), why, limits.short_max, limits.eager_max,
             limits.zcopy_max,
             limits.atomics ? "keys, gets, puts and atomics"
             : limits.puts  ? "keys, gets and puts"
             : limits.keys  ? "keys and gets"
                            : "no keys",
             limits.wakes ? "can sleep" : "cannot sleep",
             limits.tells_failures ? "tells when a peer fails" : "peers are watched by the kernel")
             .c_str());
}

void Device::capabilities(transport::Capabilities& out) const noexcept {
  const Limits& limits = shared_.limits;
  out = {};
  out.eager_max = limits.eager_max;
  if (limits.zcopy_max == 0) out.lacks |= STRIA_CAP_ZCOPY;
  if (limits.keys) {
    out.flags |= STRIA_CAP_STRIDED;  // the key describes the blocks, and the peer requests each of them
    out.strided_depth = 1;
    out.max_keys = kKeysMost;
    out.max_sge = static_cast<std::uint32_t>(std::min<std::size_t>(limits.get.zcopy_runs, UINT32_MAX));
  } else {
    out.lacks |= kNeedKeys;
  }
  if (!limits.puts) out.lacks |= STRIA_CAP_PUT;
  if (!limits.atomics) out.lacks |= STRIA_CAP_ATOMICS;
  if (limits.short_max == 0) return;
  out.pio_max = limits.short_max;
  out.pio_mtu = out.pio_window_bytes =
      limits.short_max + static_cast<std::uint32_t>(sizeof(transport::Header));
  out.pio_windows = limits.peers;
}

std::uint32_t Device::address(void* buffer, std::uint32_t bytes) const noexcept {
  if (bytes >= address_.size()) std::memcpy(buffer, address_.data(), address_.size());
  return static_cast<std::uint32_t>(address_.size());
}

Result<Link*> Device::connect(const void* address, std::uint32_t bytes, void* peer, int) {
  return peers_.connect({static_cast<const std::byte*>(address), bytes}, peer);
}

unsigned Device::progress(unsigned budget) noexcept {
  if (shared_.armed) disarm();
  unsigned handled = receiver_.receive(budget);
  if (joiner_.is_due()) joiner_.answer();
  if (peers_.owes()) peers_.step();
  if (moves_.have_stalled()) moves_.resume();
  if (operations_.have_ended()) handled += operations_.report(budget - handled);
  if (ends_.are_due()) handled += ends_.bury(receiver_.is_drained(), budget - handled);
  return handled;
}

void Device::check() noexcept {
  constexpr unsigned kBudget = 64;
  joiner_.look_soon();
  peers_.look_after();
  if (ends_.have_links()) progress(kBudget);
}

Status Device::arm() noexcept {
  if (!receiver_.is_empty() || operations_.have_ended() || moves_.have_stalled() || ends_.have_links())
    return Status::no_resource;
  if (joiner_.has_news()) return Status::no_resource;
  shared_.armed = true;
  // An adapter reports only events after it was armed. poll_into_stash() finds those between the last
  // progress and that.
  if (interface_->arm() && !receiver_.poll_into_stash()) return Status::ok;
  disarm();
  return Status::no_resource;
}

void Device::disarm() noexcept {
  shared_.armed = false;
  joiner_.look_soon();
  std::uint64_t count = 0;
  static_cast<void>(::read(shared_.wakeup.get(), &count, sizeof count));
}

/// Says bye to the peers, and waits until nothing can be lost when this process ends. In shared memory the
/// peers have everything at once; over a network the device waits for their answers.
void Device::leave(int timeout_ms) noexcept {
  constexpr unsigned kBudget = 256;
  // Once this process has sent everything, it waits for answers no longer than this, counted from the call.
  constexpr std::uint64_t kFarewellMs = 1000;
  const std::uint64_t start = now_ms(), timeout = static_cast<std::uint64_t>(std::max(timeout_ms, 0));
  receiver_.close();
  joiner_.close_door();
  peers_.say_bye();
  if (shared_.limits.in_memory) return;
  for (unsigned round = 0;; ++round) {
    receiver_.receive(kBudget);
    if (peers_.owes()) peers_.step();
    const bool is_out = !peers_.owes() && interface_->is_flushed();
    if (is_out && peers_.have_parted()) return;
    const std::uint64_t waited = now_ms() - start;
    if (waited >= timeout || (is_out && waited >= kFarewellMs)) return;
    if (round % 64 == 63) std::this_thread::yield();
  }
}

void Device::close(int timeout_ms) noexcept {
  leave(timeout_ms);
}

Device::~Device() {
  door_.close();
  ends_.close();
  joiner_.close();
  links_.for_each([](Link& link) {
    link.ask.reset();
    link.echo.reset();
    if (link.endpoint != nullptr) uct_ep_destroy(link.endpoint);
    link.endpoint = nullptr;
  });
  shared_.kept.release_all();
  if (interface_ != nullptr) {
    operations_.close();
    keys_.close();
  }
  interface_.reset();  // here, because UCX may still call members of this device while it closes
}

}  // namespace stria::uct
