// The shm provider: processes of one host, through memory that the receiver owns. README.md is the way in.
#pragma once

#include "transport/contract.hpp"
#include "transport/shm/device.hpp"
#include "transport/shm/memory.hpp"

namespace stria::shm {

struct ShmProvider {
  using Device = shm::Device;
  using Link = shm::Link;
  static constexpr const char* kName = "shm";
  static constexpr const char* kDescription = "processes of one host, through shared memory";
  static Result<void*> mem_alloc(std::uint64_t bytes) { return allocate_memory(bytes); }
  static Status mem_free(void* memory) noexcept { return free_memory(memory); }
};
static_assert(transport::Provider<ShmProvider>);

/// The provider's table. Constant, lives as long as the program.
const stria_provider_t& shm_provider() noexcept;

}  // namespace stria::shm
