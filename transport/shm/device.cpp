#include "transport/shm/device.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "base/log.hpp"

namespace stria::shm {
namespace {

constexpr std::size_t kBounceBytes = std::size_t{64} * 1024;

std::int64_t now_ms() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

Device::Device(const transport::DeviceParams& params) : shared_(params.sink), connector_(shared_) {}

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
  shared_.settings = *settings;
  Home& home = shared_.home;
  if (auto made = home.make(params, *settings); !made) return std::move(made).error();
  const SegmentView& own = home.segment();
  keys_.open(own);
  inbox_ = InboxReceiver(own);
  shared_.windows.open();
  shared_.bounce.resize(kBounceBytes);
  shared_.cells = Cells(own, settings->huge_pages);
  // Without sockets (some sandboxes) the device works, but cannot sleep and is attached through /proc only.
  if (auto bell = shared_.bell.open(home.identity().nonce); !bell) log::info("{}", bell.error().context);
  return home.let_in(settings->attach);
}

Device::~Device() {
  // The memory behind the keys may go any time from now on.
  if (shared_.home.is_made())
    keys_.invalidate_all(shared_.home.slots_used(),
                         [this](std::uint32_t slot) { return is_accessor_alive(slot); });
}

void Device::close(int timeout_ms) noexcept {
  if (closed_) return;
  closed_ = true;
  // A peer that sees it drains, then drops the link, and does not wait for us.
  shared_.home.close();
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
  const Shape& shape = shared_.settings.shape;
  out = {};
  out.flags = STRIA_CAP_INVALIDATE_FENCE | STRIA_CAP_ZERO_BASED | STRIA_CAP_BLOCK_LIST | STRIA_CAP_STRIDED |
              STRIA_CAP_COMPOSITE;
  if (shared_.settings.pio_max > 0 && shape.windows > 0) out.flags |= STRIA_CAP_GROWING;
  // Without cross-memory attach, only through keys of memory that peers map.
  if (!shared_.settings.cma) out.lacks = STRIA_CAP_GET | STRIA_CAP_PUT;
  out.pio_max = shape.windows > 0 ? shared_.settings.pio_max : 0;
  out.pio_windows = shape.windows;
  out.pio_window_bytes = shape.window_bytes;
  out.pio_mtu = shape.pio_mtu;
  out.eager_max = cell_most(shape);
  out.key_bits = 8;
  out.strided_depth = 0;
  out.max_sge = 1024;
  out.max_keys = shape.keys;
}

Status Device::invalidate(const transport::Key& key) noexcept {
  return keys_.invalidate(key, shared_.home.slots_used(),
                          [this](std::uint32_t slot) { return is_accessor_alive(slot); });
}

std::uint32_t Device::address(void* buffer, std::uint32_t bytes) noexcept {
  std::byte encoded[kAddressBytes];
  encode_address(shared_.home.identity(), encoded);
  if (bytes > 0) std::memcpy(buffer, encoded, std::min<std::size_t>(bytes, kAddressBytes));
  return kAddressBytes;
}

}  // namespace stria::shm
