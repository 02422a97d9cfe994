#include "tag/mapped_memory.hpp"

#include "base/format.hpp"
#include "stria/provider_coresident.h"

namespace stria::tag {

void MappedMemory::opened(const stria_provider_t& provider, stria_device_t* device) {
  if (provider.memory == nullptr) return;
  const std::lock_guard lock(mutex_);
  open_.push_back({&provider, device});
}

void MappedMemory::closing(stria_device_t* device) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [device](const Open& one) { return one.device == device; });
}

Result<void*> MappedMemory::allocate(Providers providers, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (const auto& provider : providers) {
    if (provider->table->memory == nullptr) continue;
    stria_device_t* device = nullptr;
    for (const Open& one : open_)
      if (device == nullptr && one.provider == provider->table) device = one.device;
    char error[512] = "";
    void* memory = nullptr;
    const stria_status_t status =
        provider->table->memory->mem_alloc(device, bytes, &memory, error, sizeof(error));
    if (status == STRIA_OK) return memory;
    if (status != STRIA_ERR_UNSUPPORTED)
      return Error{transport::from_c(status), fmt::format("{} bytes: {}", bytes, error)};
  }
  return Error{Status::unsupported, "no provider in use has memory that peers can map"};
}

Status MappedMemory::free(Providers providers, void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  for (const Open& one : open_)
    if (one.provider->memory->mem_free(one.device, memory) == STRIA_OK) return Status::ok;
  for (const auto& provider : providers)
    if (provider->table->memory != nullptr && provider->table->memory->mem_free(nullptr, memory) == STRIA_OK)
      return Status::ok;
  return Status::invalid;
}

}  // namespace stria::tag
