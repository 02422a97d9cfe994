#include "transport/fake/device.hpp"

#include "base/format.hpp"
#include "transport/fake/mapped.hpp"
#include "transport/fake/zcopy.hpp"

namespace stria::fake {

Device::Device(std::shared_ptr<Fabric> fabric, const transport::DeviceParams& params)
    : fabric_(std::move(fabric)), sink_(params.sink), worker_id_(params.worker_id), index_(params.device) {
  const std::lock_guard lock(fabric_->mutex());
  number_ = fabric_->add(*this);
  keys_ = std::make_unique<KeyTable>(number_, fabric_->options().max_keys, fabric_->options().key_bytes);
}

Device::~Device() {
  disown_mapped(*this);
  const std::lock_guard lock(fabric_->mutex());
  leave();
}

Result<std::unique_ptr<Device>> Device::open(const transport::DeviceParams& params) {
  if (params.size < sizeof params)
    return Error{Status::invalid,
                 fmt::format("fake: device parameters of {} bytes, {} wanted", params.size, sizeof params)};
  if (params.worker_id == 0) return Error{Status::invalid, "fake: worker id 0"};
  if (params.sink == nullptr || params.services == nullptr)
    return Error{Status::invalid, "fake: device parameters without sink or services"};
  auto fabric = fabric_for(params);
  if (!fabric) return std::move(fabric).error();
  if (params.device >= (*fabric)->options().devices)
    return Error{Status::invalid, fmt::format("fake: there is no device {}, a worker of the fabric has {}",
                                              params.device, (*fabric)->options().devices)};
  std::unique_ptr<Device> device(new Device(*std::move(fabric), params));
  if (device->fabric_->options().event_fd)
    if (auto opened = device->wakeup_.open(); !opened) return std::move(opened).error();
  return device;
}

void Device::close(int) noexcept {
  const Callers::Upcalls use(callers_, "close");  // it makes none, and is not called from inside one
  const std::lock_guard lock(fabric_->mutex());
  leave();  // what was sent waits at the peers, which need this device no more: there is nothing to wait for
}

void Device::capabilities(transport::Capabilities& out) noexcept {
  const FabricOptions& options = fabric_->options();
  out = {};
  const auto lack = [&](bool has, std::uint64_t bit) { out.lacks |= has ? 0 : bit; };
  lack(options.fast_register, STRIA_CAP_FAST_REGISTER);
  lack(options.send_invalidate, STRIA_CAP_SEND_INVALIDATE);
  lack(options.get, STRIA_CAP_GET);
  lack(options.put, STRIA_CAP_PUT);
  lack(options.atomics && options.fast_register, STRIA_CAP_ATOMICS);
  lack(options.offload, STRIA_CAP_OFFLOAD);
  lack(options.zcopy, STRIA_CAP_ZCOPY);
  lack(options.maps, STRIA_CAP_MAP_MEMORY);
  if (options.grows_percent != 0) out.flags |= STRIA_CAP_GROWING;
  if (options.places_percent != 0) out.flags |= STRIA_CAP_PLACES;
  if (options.fast_register) out.flags |= STRIA_CAP_ZERO_BASED;
  if (options.fast_register && !options.contiguous_keys_only)
    out.flags |= STRIA_CAP_STRIDED | STRIA_CAP_BLOCK_LIST | STRIA_CAP_COMPOSITE;
  if (options.pio) {
    out.pio_max = options.pio_max;
    out.pio_windows = options.pio_windows;
    out.pio_window_bytes = options.pio_window_bytes;
    out.pio_mtu = options.pio_max + static_cast<std::uint32_t>(sizeof(transport::Header));
  }
  out.eager_max = options.eager_max;
  out.key_bits = 8;
  out.max_sge = 0;
  out.max_keys = options.fast_register ? options.max_keys : 0;
}

Status Device::fast_register(const Link*, const transport::Payload& memory, unsigned access,
                             transport::Key& key) noexcept {
  const Callers::Use use(callers_, "fast_register");
  if (memory.count < 0) broken_contract("fast_register", "a negative count");
  const FabricOptions& options = fabric_->options();
  if (!options.fast_register) return Status::unsupported;
  const datatype::Layout* layout = transport::layout_of(memory);
  if (layout != nullptr && !layout->reach(memory.count)) return Status::unsupported;
  if (layout != nullptr && options.contiguous_keys_only && !layout->is_contiguous(memory.count))
    return Status::unsupported;
  const bool is_mapped = options.maps && is_mapped_memory(memory);
  if (!is_mapped && (access & STRIA_REGISTER_MAPPED) != 0) return Status::unsupported;
  const std::lock_guard lock(fabric_->mutex());
  if (dead_) return Status::no_resource;
  return keys_->add(memory, access, is_mapped, key);
}

Status Device::invalidate(const transport::Key& key) noexcept {
  const Callers::Use use(callers_, "invalidate");
  const std::lock_guard lock(fabric_->mutex());
  const Status ended = keys_->remove(key);
  if (ended == Status::ok) ++fabric_->statistics().keys_ended_here;
  return ended;
}

int Device::event_fd() noexcept {
  return wakeup_.fd();
}

Status Device::arm() noexcept {
  const Callers::Use use(callers_, "arm");
  if (wakeup_.fd() < 0) return Status::unsupported;
  const std::lock_guard lock(fabric_->mutex());
  if (!dead_) {
    if (!accesses_.empty()) return Status::no_resource;
    for (const auto& send : zcopy_sends_)
      if (send->unread == 0) return Status::no_resource;
    for (const auto& link : links_)
      if (link->waits()) return Status::no_resource;
  }
  wakeup_.arm();
  return Status::ok;
}

}  // namespace stria::fake
