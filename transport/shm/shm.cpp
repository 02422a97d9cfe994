#include "transport/shm/shm.hpp"

namespace stria::shm {

const stria_provider_t& shm_provider() noexcept {
  return transport::provider_table<ShmProvider>();
}

}  // namespace stria::shm
