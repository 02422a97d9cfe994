#include "transport/fake/device.hpp"
#include "transport/fake/fake.hpp"
#include "transport/fake/mapped.hpp"
#include "transport/fake/variables.hpp"
#include "transport/provider_table.hpp"

namespace stria::fake {
namespace {

struct FakeProvider {
  using Device = fake::Device;
  using Link = fake::Link;
  using Groups =
      transport::GroupList<transport::group::Pio, transport::group::Keys, transport::group::Get,
                           transport::group::Put, transport::group::Atomic, transport::group::Offload,
                           transport::group::Bulk, transport::group::Devices, transport::group::Look,
                           transport::group::Keep, transport::group::Memory>;
  static constexpr const char* kName = "fake";
  static constexpr const char* kDescription = "devices of one process under a seeded scheduler, for tests";
  static constexpr Variables kVariables = fake::kVariables;
  static Result<void*> mem_alloc(Device* device, std::uint64_t bytes) {
    const Fabric* const fabric = device != nullptr ? &device->fabric() : selected_fabric();
    if (fabric == nullptr || !fabric->options().maps)
      return Error{Status::unsupported, "fake: this fabric maps no memory"};
    return allocate_mapped(device, bytes);
  }
  static Status mem_free(Device* device, void* memory) noexcept { return free_mapped(device, memory); }
  static std::uint32_t device_count(const transport::DeviceParams& params) {
    const auto fabric = fabric_for(params);
    return fabric ? (*fabric)->options().devices : 1;  // open says what is wrong
  }
};

}  // namespace

const stria_provider_t& fake_provider() noexcept {
  return transport::provider_table<FakeProvider>();
}

}  // namespace stria::fake
