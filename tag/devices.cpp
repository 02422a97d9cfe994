#include "tag/devices.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/format.hpp"
#include "base/log.hpp"
#include "base/system.hpp"
#include "tag/address.hpp"
#include "tag/last_error.hpp"
#include "transport/capabilities.hpp"
#include "transport/device_config.hpp"
#include "transport/services.hpp"

namespace stria::tag {

/// How many devices each of the context's providers is to have.
Result<std::vector<std::uint8_t>> Devices::count(const Context& context) {
  std::vector<std::uint8_t> counts;
  std::uint64_t all = 0;
  for (const auto& loaded : context.providers) {
    const std::uint32_t wanted = transport::device_count(*loaded->table, context.config);
    all += wanted;
    if (all > STRIA_DEVICES_MAX)
      return Error{
          Status::invalid,
          fmt::format("provider {} has {} devices, which makes {} with those of the providers before it; "
                      "a worker has at most {}: name fewer of them",
                      loaded->table->name, wanted, all, STRIA_DEVICES_MAX)};
    counts.push_back(static_cast<std::uint8_t>(wanted));
  }
  return counts;
}

transport::LinkRef Device::link_ref(stria_link_t* link) const noexcept {
  transport::LinkRef ref;
  ref.ops = ops;
  ref.link = link;
  ref.device = handle;
  stria_link_limits_t limits{};
  provider->link_limits(link, &limits);
  ref.take(limits);
  return ref;
}

Result<void> Devices::open(Context& context, Worker& worker, std::uint64_t worker_id,
                           const stria_sink_t& upcalls) {
  std::string reasons;
  std::vector<AddressPart> parts;
  const auto counts = count(context);
  if (!counts) return counts.error();
  for (std::size_t p = 0; p < counts->size(); ++p) {
    const transport::LoadedProvider& loaded = *context.providers[p];
    for (std::uint8_t index = 0; index < (*counts)[p]; ++index) {
      auto device = std::make_unique<Device>();
      device->worker = &worker;
      device->number = static_cast<std::uint8_t>(devices_.size());
      device->index = index;
      device->provider = loaded.table;
      device->ops = &loaded.ops;
      device->label =
          (*counts)[p] == 1 ? std::string(device->name()) : fmt::format("{}[{}]", device->name(), index);
      device->sink = upcalls;
      device->sink.self = device.get();
      if (const auto opened = open_one(context, worker_id, *device); !opened) {
        const std::string_view own = without_name(opened.error().context, device->name());
        if (context.by_auto[p])
          log::info("provider {} is not used: {}", device->label, own);
        else
          log::warn("provider {} is not used: {}", device->label, own);
        reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", device->label, own);
        continue;
      }
      parts.push_back({device->name(), index, device->address});
      polls_.push_back({device->provider->progress, device->handle});
      context.memory.opened(*device->provider, device->handle);
      devices_.push_back(std::move(device));
    }
  }
  if (devices_.empty())
    return Error{Status::io_error, fmt::format("no provider could be opened ({})", reasons)};
  address_ = make_address(worker_id, parts, host_name());
  STRIA_CHECK(address_.size() <= STRIA_ADDRESS_MAX, "the parts of all devices fit");
  return {};
}

Result<void> Devices::open_one(Context& context, std::uint64_t worker_id, Device& device) {
  const stria_device_params_t params = {
      .size = sizeof(params),
      .worker_id = worker_id,
      .job_secret = context.job_secret.data(),
      .job_secret_bytes = static_cast<std::uint32_t>(context.job_secret.size()),
      .sink = &device.sink,
      .services = &transport::services(),
      .config = transport::config_text,
      .config_self = &context.config,
      .config_number = transport::config_number,
      .device = device.index,
  };
  const stria_provider_t& provider = *device.provider;
  char error[512] = "";
  if (const stria_status_t opened = provider.open(&params, &device.handle, error, sizeof(error));
      opened != STRIA_OK)
    return Error{transport::from_c(opened), error};
  if (device.handle == nullptr)
    return Error{Status::io_error, "it said yes and gave no device, which breaks its contract"};
  device.address.resize(kMostPartBytes);
  const std::uint32_t needed = provider.address(device.handle, device.address.data(), kMostPartBytes);
  if (needed > kMostPartBytes) {
    provider.close(device.handle, 0);
    return Error{Status::io_error, fmt::format("its part of the address has {} bytes, the limit is {}",
                                               needed, kMostPartBytes)};
  }
  device.address.resize(needed);
  const stria_capabilities_t capabilities = transport::capabilities_of(provider, device.handle);
  if ((capabilities.flags & STRIA_CAP_ATOMICS) != 0)
    device.atomics =
        (capabilities.flags & STRIA_CAP_MAP_MEMORY) != 0 ? Device::Atomics::cpu : Device::Atomics::adapter;
  return {};
}

void Devices::close(MappedMemory& memory, std::chrono::steady_clock::time_point deadline) noexcept {
  for (const auto& device : devices_) {
    memory.closing(device->handle);
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    device->provider->close(device->handle, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  }
}

void Devices::check() const noexcept {
  for (const auto& device : devices_) device->provider->check(device->handle);
}

Status Devices::arm() const noexcept {
  for (const auto& device : devices_) {
    const Status armed = transport::from_c(device->provider->arm(device->handle));
    if (armed != Status::ok) return armed;
  }
  return Status::ok;
}

std::vector<int> Devices::event_fds() const {
  std::vector<int> fds;
  for (const auto& device : devices_) {
    const int fd = device->provider->event_fd(device->handle);
    if (fd < 0) return {};  // a sleeper would not hear of packets of this device
    fds.push_back(fd);
  }
  return fds;
}

}  // namespace stria::tag
