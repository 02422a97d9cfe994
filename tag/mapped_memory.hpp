// MappedMemory: memory that peers map (stria_mem_alloc()). A context asks its providers for it, in their
// order. Where a worker has a device of the provider open, the provider is asked for memory that the peers of
// this device map; of several such devices, the first that has such memory serves. The memory outlives the
// device.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "transport/loader.hpp"

namespace stria::tag {

class MappedMemory {
 public:
  /// A worker opened a device (opened()), or is about to close it (closing()). Any thread.
  void opened(const stria_provider_t& provider, stria_device_t* device);
  void closing(stria_device_t* device) noexcept;

  using Providers = std::span<const std::unique_ptr<const transport::LoadedProvider>>;
  /// Allocates memory. Errors: unsupported (no provider in use has such memory), and the provider's own. Any
  /// thread.
  Result<void*> allocate(Providers providers, std::uint64_t bytes);
  /// Frees memory. invalid: `memory` is not the beginning of memory that allocate() gave. Any thread.
  Status free(Providers providers, void* memory) noexcept;

 private:
  struct Open {
    const stria_provider_t* provider;
    stria_device_t* device;
  };
  std::mutex mutex_;  // held while a provider is asked: none of the devices is closed meanwhile
  std::vector<Open> open_;
};

}  // namespace stria::tag
