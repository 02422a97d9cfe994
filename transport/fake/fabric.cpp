#include "transport/fake/fabric.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/format.hpp"
#include "datatype/pack.hpp"
#include "transport/device_config.hpp"
#include "transport/fake/device.hpp"
#include "transport/fake/variables.hpp"
#include "transport/payload.hpp"

namespace stria::fake {
namespace {

std::uint64_t next_fabric_id() noexcept {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::shared_ptr<Fabric>& selected() noexcept {
  thread_local std::shared_ptr<Fabric> fabric;
  return fabric;
}

FabricOptions default_options(const Config& config) noexcept {
  FabricOptions options;
  options.seed = static_cast<std::uint64_t>(config.number("STRIA_FAKE_SEED"));
  options.delay = static_cast<std::uint32_t>(config.number("STRIA_FAKE_DELAY"));
  options.queue = static_cast<std::uint32_t>(config.number("STRIA_FAKE_QUEUE"));
  options.async_percent = options.delay > 0 ? 50 : 0;
  return options;
}

}  // namespace

Fabric::Fabric(const FabricOptions& options)
    : options_(options), id_(next_fabric_id()), random_(options.seed) {
  STRIA_CHECK(options.no_resource_percent < 100, "a fabric that refuses every send");
  STRIA_CHECK(options.devices >= 1 && options.devices <= kMostDevices, "so many devices of a worker");
  for (const std::uint32_t percent : options.idle_percent)
    STRIA_CHECK(percent < 100, "a device that never moves anything");
  STRIA_CHECK(options.queue > 0, "a fabric whose links hold nothing");
  STRIA_CHECK(options.pio_window_bytes >= options.pio_max + sizeof(transport::Header),
              "a PIO window smaller than its longest message");
  STRIA_CHECK(options.key_bytes >= 16 && options.key_bytes <= STRIA_PROVIDER_KEY_MAX,
              "keys of such a length");
  STRIA_CHECK(options.max_keys <= 1u << 24, "more keys than a 24-bit index names");
}

bool Fabric::refuses(const transport::Payload& payload) const noexcept {
  const datatype::Layout* const layout = transport::layout_of(payload);
  const auto meets = [this](const std::byte* begin, std::size_t bytes) {
    return std::any_of(refused_.begin(), refused_.end(), [=](std::span<const std::byte> refused) {
      return begin < refused.data() + refused.size() && refused.data() < begin + bytes;
    });
  };
  if (refused_.empty() || payload.length == 0) return false;
  if (layout == nullptr)
    return meets(static_cast<const std::byte*>(payload.base) + payload.offset,
                 static_cast<std::size_t>(payload.length));
  for (std::int64_t done = 0; done < payload.length;) {
    iovec runs[64];
    std::int64_t covered = 0;
    const transport::Payload rest = transport::slice(payload, static_cast<std::uint64_t>(done),
                                                     static_cast<std::uint64_t>(payload.length - done));
    const std::size_t n = datatype::iovecs(transport::range_of(rest), runs, std::size(runs), &covered);
    for (std::size_t i = 0; i < n; ++i)
      if (meets(static_cast<const std::byte*>(runs[i].iov_base), runs[i].iov_len)) return true;
    done += covered;
  }
  return false;
}

std::uint32_t Fabric::add(Device& device) {
  devices_.push_back(&device);
  return next_device_++;
}

void Fabric::remove(Device& device) noexcept {
  const auto at = place_of(device.number());
  if (at != devices_.end() && *at == &device) devices_.erase(at);
}

std::vector<Device*>::iterator Fabric::place_of(std::uint32_t number) noexcept {
  return std::lower_bound(devices_.begin(), devices_.end(), number,
                          [](const Device* device, std::uint32_t n) { return device->number() < n; });
}

Device* Fabric::find(std::uint32_t number) noexcept {
  const auto at = place_of(number);
  return at == devices_.end() || (*at)->number() != number ? nullptr : *at;
}

Device* Fabric::find(std::uint64_t worker_id, std::uint32_t index) noexcept {
  const auto at = std::find_if(devices_.begin(), devices_.end(), [&](const Device* device) {
    return device->worker_id() == worker_id && device->index() == index;
  });
  return at == devices_.end() ? nullptr : *at;
}

std::uint64_t Fabric::random(std::uint64_t limit) noexcept {
  // Plain modulo: the bias is below 2^-32 for every limit in use, and the sequence is the same with every
  // library.
  return random_() % (limit + 1);
}

Result<std::shared_ptr<Fabric>> fabric_for(const transport::DeviceParams& params) {
  if (selected() != nullptr) return selected();
  static auto* mutex = new std::mutex;
  static auto* shared = new std::weak_ptr<Fabric>;
  const auto config = transport::read_device_config(kVariables, params);
  if (!config) return config.error();
  const FabricOptions wanted = default_options(*config);
  const std::lock_guard lock(*mutex);
  if (auto fabric = shared->lock()) {
    const FabricOptions& has = fabric->options();
    if (has.seed != wanted.seed || has.delay != wanted.delay || has.queue != wanted.queue)
      return Error{Status::invalid,
                   fmt::format("fake: this process's fabric is in use with seed {}, delay {}, queue {}; "
                               "seed {}, delay {}, queue {} were asked for",
                               has.seed, has.delay, has.queue, wanted.seed, wanted.delay, wanted.queue)};
    return fabric;
  }
  auto fabric = std::make_shared<Fabric>(wanted);
  *shared = fabric;
  return fabric;
}

const Fabric* selected_fabric() noexcept {
  return selected().get();
}

std::shared_ptr<Fabric> select_fabric(std::shared_ptr<Fabric> fabric) noexcept {
  return std::exchange(selected(), std::move(fabric));
}

}  // namespace stria::fake
