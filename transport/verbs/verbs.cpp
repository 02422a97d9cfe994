#include "transport/verbs/verbs.hpp"

#include "transport/provider_table.hpp"
#include "transport/verbs/device.hpp"
#include "transport/verbs/settings.hpp"
#include "transport/verbs/variables.hpp"

namespace stria::verbs {
namespace {

struct VerbsProvider {
  using Device = verbs::Device;
  using Link = verbs::Link;
  using Groups = transport::GroupList<transport::group::Pio, transport::group::Keys, transport::group::Get,
                                      transport::group::Put, transport::group::Atomic,
                                      transport::group::Offload, transport::group::Devices>;
  static constexpr const char* kName = "verbs";
  static constexpr const char* kDescription = "InfiniBand, RoCE and iWARP through rdma-core";
  static constexpr Variables kVariables = verbs::kVariables;
  static std::uint32_t device_count(const transport::DeviceParams& params) { return count_devices(params); }
};

}  // namespace

const stria_provider_t& verbs_provider() noexcept {
  return transport::provider_table<VerbsProvider>();
}

const Counters& counters_of(stria_device_t* device) noexcept {
  return reinterpret_cast<Device*>(device)->counters();
}

}  // namespace stria::verbs
