#include "transport/verbs/verbs.hpp"

#include "transport/contract.hpp"
#include "transport/verbs/device.hpp"

namespace stria::verbs {
namespace {

struct VerbsProvider {
  using Device = verbs::Device;
  using Link = verbs::Link;
  static constexpr const char* kName = "verbs";
  static constexpr const char* kDescription = "InfiniBand, RoCE and iWARP through rdma-core";
  static Result<void*> mem_alloc(std::uint64_t) {
    return Error{Status::unsupported, "verbs: no memory that peers can map"};
  }
  static Status mem_free(void*) noexcept { return Status::unsupported; }
};
static_assert(transport::Provider<VerbsProvider>);

}  // namespace

const stria_provider_t& verbs_provider() noexcept {
  return transport::ProviderTable<VerbsProvider>::kTable;
}

const Counters& counters_of(stria_device_t* device) noexcept {
  return reinterpret_cast<Device*>(device)->counters();
}

}  // namespace stria::verbs
