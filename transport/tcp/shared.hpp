// State that the links of a device share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
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
  const std::uint32_t lanes;  ///< bulk connections to be made by each route to a peer
  /// How long a peer's system may acknowledge nothing before it counts as silent.
  const std::uint32_t silent_ms;
  /// The queue by which the kernel is asked, opened at the first call. Null: this kernel has no such queue or
  /// does not allow it, or the configuration does not.
  KernelQueue* kernel_queue() noexcept;
  /// The queue that keeps the deadlines of records that wait for others. Null: no deadline can be kept.
  KernelQueue* keeper() noexcept {
    KernelQueue* const out = kernel_queue();
    return out == nullptr || !out->keeps_deadlines() ? nullptr : out;
  }

  BufferPool pool;
  BufferPool retained;  ///< for bytes that are not acknowledged yet
  Events events;
  Keys keys;
  GetPool gets;
  bool retains = true;                 ///< links retain bytes that are not acknowledged
  bool may_queue = false;              ///< kernel_queue() may open a queue, and has not tried yet
  std::string without_queue;           ///< why the kernel has no such queue for this process; may be empty
  std::unique_ptr<KernelQueue> queue;  ///< null: none is open
  std::vector<Link*> want_bulk;        ///< links whose bulk connections this device is to make
  std::vector<Link*> lost;      ///< links whose first connection was reset since the device's last call
  IntrusiveList<Link> talking;  ///< links that have sent since the device's last call
  /// The device is being called; what waits for others is sent at the end of the call.
  bool is_in_call = false;
  std::uint64_t requests = 0;     ///< counts gets of this device, and pieces that peers request
  unsigned waiting_for_room = 0;  ///< connections that wait for room to send
  /// A record could not be sent for want of memory. No event tells when there is memory again, so check()
  /// has all links try again.
  bool lacked_memory = false;
};

}  // namespace stria::tcp
