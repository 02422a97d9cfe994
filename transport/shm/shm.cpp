#include "transport/shm/shm.hpp"

namespace stria::shm {

const stria_provider_t& shm_provider() noexcept {
  return transport::ProviderTable<ShmProvider>::kTable;
}

}  // namespace stria::shm
