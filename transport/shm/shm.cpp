#include "transport/shm/shm.hpp"

namespace stria::shm {

Status ShmProvider::mem_alloc(std::uint64_t /*bytes*/, void** /*out*/) noexcept {
  return Status::unsupported;
}
Status ShmProvider::mem_free(void* /*memory*/) noexcept {
  return Status::unsupported;
}

const stria_provider_t& shm_provider() noexcept {
  return transport::ProviderTable<ShmProvider>::kTable;
}

}  // namespace stria::shm
