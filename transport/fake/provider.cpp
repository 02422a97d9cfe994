#include "transport/contract.hpp"
#include "transport/fake/device.hpp"
#include "transport/fake/fake.hpp"

namespace stria::fake {
namespace {

struct FakeProvider {
  using Device = fake::Device;
  using Link = fake::Link;
  static constexpr const char* kName = "fake";
  static constexpr const char* kDescription = "devices of one process under a seeded scheduler, for tests";
  static Result<void*> mem_alloc(std::uint64_t) {
    return Error{Status::unsupported, "fake: no memory that peers can map"};
  }
  static Status mem_free(void*) noexcept { return Status::unsupported; }
};
static_assert(transport::Provider<FakeProvider>);

}  // namespace

const stria_provider_t& fake_provider() noexcept {
  return transport::ProviderTable<FakeProvider>::kTable;
}

}  // namespace stria::fake
