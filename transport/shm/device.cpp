#include "transport/shm/device.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/format.hpp"
#include "base/log.hpp"
#include "transport/wire.hpp"

namespace stria::shm {
namespace {

constexpr std::size_t kBounceBytes = std::size_t{64} * 1024;

std::int64_t now_ms() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

Device::Device(const transport::DeviceParams& params) : sink_(params.sink) {
  const auto* secret = static_cast<const std::byte*>(params.job_secret);
  if (secret != nullptr) secret_.assign(secret, secret + params.job_secret_bytes);
}

Result<std::unique_ptr<Device>> Device::open(const transport::DeviceParams& params) {
  if (params.size < sizeof(transport::DeviceParams) || params.sink == nullptr)
    return Error{Status::invalid, "shm: device parameters of another version, or without a sink"};
  std::unique_ptr<Device> device(new Device(params));
  auto started = device->start(params);
  if (!started) return std::move(started).error();
  return device;
}

Result<void> Device::start(const transport::DeviceParams& params) {
  auto settings = read_settings(params);
  if (!settings) return std::move(settings).error();
  settings_ = *settings;
  const Shape& shape = settings_.shape;
  const std::size_t bytes = plan(shape).bytes;
  auto made = create_segment("stria", bytes);
  if (!made) return std::move(made).error();
  segment_ = *std::move(made);
  own_ = SegmentView(segment_.map.data(), shape);

  identity_ = {random_word(),
               params.worker_id,
               static_cast<std::uint32_t>(::getpid()),
               static_cast<std::uint32_t>(::geteuid()),
               segment_.fd.get(),
               bytes,
               host_number(),
               namespace_number(kPidNamespace),
               0};
  fingerprint_ = fingerprint(secret_, identity_.nonce, identity_.worker_id);
  probe_.nonce = random_word();
  keys_ = hw::KeyTable(own_.keys(), key_shape(shape));
  key_layouts_.resize(shape.keys);
  published_ = PublishedLayouts(own_);
  inbox_ = InboxReceiver(own_);
  polled_.reserve(shape.windows);
  bounce_.resize(kBounceBytes);

  const bool barrier = register_barrier();
  auto* header = new (segment_.map.data()) SegmentHeader{};
  header->magic = kMagic;
  header->layout_version = kLayoutVersion;
  header->wire_version = wire::kVersion;
  header->library_version = library_version();
  header->nonce = identity_.nonce;
  header->worker_id = identity_.worker_id;
  header->fingerprint = fingerprint_;
  header->pid = identity_.pid;
  header->uid = identity_.uid;
  header->segment_bytes = bytes;
  header->fences = barrier ? 0 : 1;
  header->shape = shape;
  header->probe_address = reinterpret_cast<std::uint64_t>(&probe_);
  header->probe_nonce = probe_.nonce;
  cells_ = Cells(own_, settings_.huge_pages);
  header->state.store(static_cast<std::uint32_t>(DeviceState::open), std::memory_order_release);

  // Without sockets (some sandboxes) the device works, but cannot sleep and is attached through /proc only.
  if (auto bell = bell_.open(identity_.nonce); !bell) log::info("{}", bell.error().context);
  if (auto door = door_.open(identity_.nonce, segment_.fd.get(), fingerprint_); !door) {
    if (settings_.attach == AttachMode::socket) return std::move(door).error();
    log::info("{}", door.error().context);
  }
  identity_.door_space = door_.space();
  register_device(identity_.nonce, segment_.fd.get(), bytes);
  return {};
}

Device::~Device() {
  // The memory behind the keys may go any time from now on.
  if (own_)
    keys_.invalidate_all(slots_used(), [this](std::uint32_t slot) { return is_accessor_alive(slot); });
  if (own_)
    own_.header().state.store(static_cast<std::uint32_t>(DeviceState::closed), std::memory_order_release);
  door_.shut();
  unregister_device(identity_.nonce);
}

void Device::close(int timeout_ms) noexcept {
  if (closed_) return;
  closed_ = true;
  // Release: everything was sent before. A peer that sees it drains, then drops the link, and does not wait
  // for us.
  own_.header().state.store(static_cast<std::uint32_t>(DeviceState::closed), std::memory_order_release);
  const std::int64_t end = now_ms() + timeout_ms;
  for (unsigned round = 0;; ++round) {
    bool needed = false;
    for (std::uint32_t i = 0; i < links_.living() && !needed; ++i)
      needed = is_needed_by(links_.living(i), round % 64 == 63);
    if (!needed) return;
    if (now_ms() >= end) break;
    const timespec pause{0, 50'000};
    ::nanosleep(&pause, nullptr);
  }
  log::info("shm: closed after {} ms; a peer that has not answered yet loses what was sent to it",
            timeout_ms);
}

void Device::capabilities(transport::Capabilities& out) noexcept {
  const Shape& shape = settings_.shape;
  out = {};
  out.flags = STRIA_CAP_INVALIDATE_FENCE | STRIA_CAP_ZERO_BASED | STRIA_CAP_BLOCK_LIST | STRIA_CAP_STRIDED |
              STRIA_CAP_COMPOSITE;
  if (settings_.pio_max > 0 && shape.windows > 0) out.flags |= STRIA_CAP_GROWING;
  // Without cross-memory attach, only through keys of memory that peers map.
  if (!settings_.cma) out.lacks = STRIA_CAP_GET | STRIA_CAP_PUT;
  out.pio_max = shape.windows > 0 ? settings_.pio_max : 0;
  out.pio_windows = shape.windows;
  out.pio_window_bytes = shape.window_bytes;
  out.pio_mtu = shape.pio_mtu;
  out.eager_max = cell_most(shape);
  out.key_bits = 8;
  out.strided_depth = 0;
  out.max_sge = 1024;
  out.max_keys = shape.keys;
}

std::uint32_t Device::address(void* buffer, std::uint32_t bytes) noexcept {
  std::byte encoded[kAddressBytes];
  encode_address(identity_, encoded);
  if (bytes > 0) std::memcpy(buffer, encoded, std::min<std::size_t>(bytes, kAddressBytes));
  return kAddressBytes;
}

}  // namespace stria::shm
