#include "transport/tcp/shared.hpp"

#include <utility>

#include "transport/services.hpp"
#include "transport/tcp/tokens.hpp"

namespace stria::tcp {

KernelQueue* Shared::kernel_queue() noexcept {
  if (queue != nullptr || !std::exchange(may_queue, false)) return queue.get();
  auto made = KernelQueue::open();
  if (!made) {
    services.log(
        2,
        ("tcp: what the kernel would go on with by itself waits for calls: " + made.error().context).c_str());
    return nullptr;
  }
  queue = *std::move(made);
  static_cast<void>(events.watch(queue->descriptor(), kQueueToken));
  return queue.get();
}

}  // namespace stria::tcp
