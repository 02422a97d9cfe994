#include "tag/api/waiting.hpp"

#include <sched.h>

namespace stria::tag {

stria_status_t wait_for(Worker& worker, const Request& request, stria_info_t* info) noexcept {
  constexpr unsigned kSpinsBeforeYield = 2048;  // idle polls before the core is offered to others
  auto* handle = reinterpret_cast<stria_worker_t*>(&worker);
  for (unsigned idle = 0; request.state.load(std::memory_order_acquire) != RequestState::done;) {
    if (stria_worker_progress(handle) > 0) {
      idle = 0;
    } else if (++idle >= kSpinsBeforeYield) {
      idle = 0;
      ::sched_yield();
    }
  }
  return outcome(request, info);
}

}  // namespace stria::tag
