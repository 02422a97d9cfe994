#include "transport/shm/device.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "base/format.hpp"
#include "base/log.hpp"

namespace stria::shm {
namespace {

constexpr std::size_t kBounceBytes = std::size_t{64} * 1024;  // bounce buffer of cross-memory attach

std::int64_t now_ms() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

Device::Device(const transport::DeviceParams& params) : shared_(params.sink) {
  shared_.receiver = &receiver_;
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
  shared_.settings = *settings;
  OwnSegment& own = shared_.own;
  if (auto made = own.make(params, *settings); !made) return std::move(made).error();
  keys_.open(own.view());
  receiver_.open();
  shared_.windows.open();
  shared_.bounce.resize(kBounceBytes);
  shared_.cells = Cells(own.view(), settings->huge_pages);
  // Without sockets (some sandboxes) the device works, but cannot sleep and is attached through /proc only.
  if (auto wakeup = shared_.wakeup.open(own.identity().nonce); !wakeup)
    log::info("{}", wakeup.error().context);
  return own.admit_peers(settings->attach);
}

Device::~Device() {
  // From now on the application may free the memory behind its keys.
  if (shared_.own.is_made())
    keys_.invalidate_all(shared_.own.slots_used(),
                         [this](std::uint32_t slot) { return peers_.may_write(slot); });
}

void Device::close(int timeout_ms) noexcept {
  if (closed_) return;
  closed_ = true;
  // A peer that sees the segment closed drains its link, takes it down, and does not wait for this device.
  shared_.own.close();
  const std::int64_t deadline_ms = now_ms() + timeout_ms;
  for (unsigned round = 0;; ++round) {
    if (!teardown_.is_needed(round % 64 == 63)) return;
    if (now_ms() >= deadline_ms) break;
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
  // Without cross-memory attach, gets and puts work only by keys of memory that peers map.
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
  return keys_.invalidate(key, shared_.own.slots_used(),
                          [this](std::uint32_t slot) { return peers_.may_write(slot); });
}

Result<Link*> Device::connect(const void* address, std::uint32_t bytes, void* peer, int low_latency) {
  auto identity = decode_address({static_cast<const std::byte*>(address), bytes});
  if (!identity) return std::move(identity).error();
  const std::uint64_t host = shared_.own.identity().host;
  if (identity->host != host && identity->host != 0 && host != 0)
    return Error{Status::unsupported, fmt::format("shm: process {} runs on another host", identity->pid)};
  return peers_.connect(*identity, peer, low_latency != 0);
}

/// Whether a round of progress would find nothing to do. Inline, without a call: most rounds of a program
/// that waits, or polls while it computes, find nothing.
inline bool Device::is_quiet() const noexcept {
  const Windows& windows = shared_.windows;
  return !connector_.is_due() && !windows.is_armed() && !windows.has_hints() && receiver_.is_inbox_empty() &&
         windows.is_quiet();
}

unsigned Device::progress(unsigned budget) noexcept {
  ++shared_.polls;
  if (is_quiet()) return 0;
  if (shared_.windows.is_armed() || shared_.windows.has_hints() || connector_.is_due()) [[unlikely]]
    do_rare();
  return receiver_.receive(budget);
}

/// Does the work that few rounds need: ends the sleep, follows hints, and continues links that wait.
void Device::do_rare() noexcept {
  if (shared_.windows.is_armed()) disarm();
  shared_.windows.follow_hints([this](std::uint32_t slot) { static_cast<void>(peers_.accept(slot)); });
  if (!connector_.is_due()) return;
  Links& links = peers_.links();
  for (std::uint32_t i = 0; i < links.living(); ++i) connector_.go_on(links.living(i));
}

Status Device::arm() noexcept {
  if (shared_.wakeup.fd() < 0) return Status::unsupported;
  shared_.windows.arm();
  if (++sleep_ == 0) ++sleep_;
  shared_.own.view().header().armed.store(sleep_, std::memory_order_seq_cst);
  Wakeup::barrier();
  if (receiver_.is_inbox_idle() && !shared_.windows.has_hints() && shared_.windows.has_nothing() &&
      !connector_.is_due())
    return Status::ok;
  disarm();
  return Status::no_resource;
}

void Device::disarm() noexcept {
  shared_.own.view().header().armed.store(0, std::memory_order_relaxed);
  shared_.windows.disarm();
  shared_.wakeup.clear();
}

std::uint32_t Device::address(void* buffer, std::uint32_t bytes) noexcept {
  std::byte encoded[kAddressBytes];
  encode_address(shared_.own.identity(), encoded);
  if (bytes > 0) std::memcpy(buffer, encoded, std::min<std::size_t>(bytes, kAddressBytes));
  return kAddressBytes;
}

}  // namespace stria::shm
