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
    char error[512] = "";
    void* memory = nullptr;
    stria_status_t status = STRIA_ERR_UNSUPPORTED;
    const auto ask = [&](stria_device_t* device) {
      status = provider->table->memory->mem_alloc(device, bytes, &memory, error, sizeof(error));
    };
    bool is_open = false;
    for (const Open& one : open_) {
      if (one.provider != provider->table || status != STRIA_ERR_UNSUPPORTED) continue;
      is_open = true;
      ask(one.device);
    }
    if (!is_open) ask(nullptr);
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
