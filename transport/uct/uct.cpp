#include "transport/uct/uct.hpp"

#include "transport/provider_table.hpp"
#include "transport/uct/device.hpp"
#include "transport/uct/settings.hpp"
#include "transport/uct/variables.hpp"

namespace stria::uct {
namespace {

struct UctProvider {
  using Device = uct::Device;
  using Link = uct::Link;
  using Groups =
      transport::GroupList<transport::group::Pio, transport::group::Keys, transport::group::Get,
                           transport::group::Put, transport::group::Atomic, transport::group::Offload,
                           transport::group::Bulk, transport::group::Keep, transport::group::Devices>;
  static constexpr const char* kName = "uct";
  static constexpr const char* kDescription = "what UCX's transport layer drives";
  static constexpr Variables kVariables = uct::kVariables;
  static std::uint32_t device_count(const transport::DeviceParams& params) { return count_devices(params); }
};

}  // namespace

const stria_provider_t& uct_provider() noexcept {
  return transport::provider_table<UctProvider>();
}

}  // namespace stria::uct
