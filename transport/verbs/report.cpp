// What a device writes to the log (STRIA_LOG=info): its adapter when it opens, its work when it closes.
#include <algorithm>
#include <new>
#include <string>

#include "base/format.hpp"
#include "transport/verbs/device.hpp"

namespace stria::verbs {

void Device::log_limits() const noexcept try {
  std::string limits = hw::to_text(shared_.adapter->traits);
  if (limits.ends_with('\n')) limits.pop_back();
  std::ranges::replace(limits, '\n', ',');
  shared_.services->log(
      2,
      fmt::format("verbs: {}: {}", ::ibv_get_device_name(shared_.adapter->context->device), limits).c_str());
} catch (const std::bad_alloc&) {
  // Out of memory: only the log's text is lost.
}

void Device::log_counts() const noexcept try {
  const Counters& did = shared_.counters;
  shared_.services->log(
      2, fmt::format("verbs: {} work requests at {} doorbells; {} registrations, {} found again, {} "
                     "whose memory went away, {} that made room; {} windows and strided keys, {} ended by "
                     "peers, {} here",
                     did.work_requests, did.doorbells, did.registrations, did.registrations_met,
                     did.registrations_gone, did.registrations_evicted, did.windows_bound, did.closed_by_peer,
                     did.closed_here)
             .c_str());
} catch (const std::bad_alloc&) {
  // Out of memory: only the log's text is lost.
}

}  // namespace stria::verbs
