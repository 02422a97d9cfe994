// Memory that peers map (stria_mem_alloc): a context asks the providers in use for it, in their order, and
// names the device whose peers are to map it where a worker has one open: of several, the first that has such
// memory. Memory outlives the device.
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
  /// A worker opened, or is about to close, a device. Any thread.
  void opened(const stria_provider_t& provider, stria_device_t* device);
  void closing(stria_device_t* device) noexcept;

  using Providers = std::span<const std::unique_ptr<const transport::LoadedProvider>>;
  /// Errors: unsupported (no provider in use has such memory), and the provider's own. Any thread.
  Result<void*> allocate(Providers providers, std::uint64_t bytes);
  /// invalid: `memory` is not the beginning of memory that allocate gave. Any thread.
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
