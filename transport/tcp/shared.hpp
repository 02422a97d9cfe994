// What the links of a device have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/intrusive_list.hpp"
#include "transport/contract.hpp"
#include "transport/tcp/byte_queue.hpp"
#include "transport/tcp/events.hpp"
#include "transport/tcp/get.hpp"
#include "transport/tcp/kernel_queue.hpp"
#include "transport/tcp/keys.hpp"
#include "transport/tcp/record.hpp"
#include "transport/tcp/retained.hpp"

namespace stria::tcp {

class Link;

struct Shared {
  Shared(const transport::Sink& worker_sink, const stria_services_t& worker_services,
         std::uint32_t own_eager_max, std::uint32_t own_lanes, std::uint32_t own_silent_ms) noexcept
      : sink(worker_sink),
        services(worker_services),
        eager_max(own_eager_max),
        lanes(own_lanes),
        silent_ms(own_silent_ms),
        pool(buffer_bytes(own_eager_max)),
        retained(Retained::kBytes) {}
  const transport::Sink& sink;
  const stria_services_t& services;
  const std::uint32_t eager_max;
  const std::uint32_t lanes;      ///< bulk connections to be made to a peer
  const std::uint32_t silent_ms;  ///< how long a peer's system may acknowledge nothing
  /// Opened at the first call; null: this kernel has no such queue, or does not allow it.
  KernelQueue* kernel_queue() noexcept;
  /// The queue that keeps deadlines of records which wait for others; null: they do not wait.
  KernelQueue* keeper() noexcept {
    KernelQueue* const out = kernel_queue();
    return out == nullptr || !out->keeps_deadlines() ? nullptr : out;
  }

  BufferPool pool;
  BufferPool retained;  ///< of what is not acknowledged yet
  Events events;
  Keys keys;
  GetPool gets;
  bool retains = true;                 ///< links keep what is not acknowledged
  bool may_queue = false;              ///< the kernel has rings, and the configuration allows them
  std::unique_ptr<KernelQueue> queue;  ///< null: none is open
  std::vector<Link*> want_bulk;        ///< links whose bulk connections are to be made by this device
  std::vector<Link*> lost;             ///< links whose connection was reset since the device's last call
  IntrusiveList<Link> talking;         ///< links that have sent since the device's last call
  bool is_in_call = false;             ///< of the device, which sends what waits for others when it ends
  std::uint64_t requests = 0;          ///< gets and pieces that were requested, by either side
  unsigned waiting_for_room = 0;       ///< connections that have more to send than the system takes
};

}  // namespace stria::tcp
