// What a device tells the log (STRIA_LOG=info): of its adapter when it opens, of its work when it closes.
#include <algorithm>
#include <new>
#include <string>

#include "base/format.hpp"
#include "transport/verbs/device.hpp"

namespace stria::verbs {

void Device::tell_limits() const noexcept try {
  std::string limits = hw::to_text(adapter_->traits);
  if (limits.ends_with('\n')) limits.pop_back();
  std::ranges::replace(limits, '\n', ',');
  services_->log(
      2, fmt::format("verbs: {}: {}", ::ibv_get_device_name(adapter_->context->device), limits).c_str());
} catch (const std::bad_alloc&) {
  // Only the words are lost.
}

void Device::tell_counts() const noexcept try {
  const Counters& did = counters_;
  services_->log(
      2, fmt::format("verbs: {} work requests at {} doorbells; {} registrations, {} found again, {} "
                     "whose memory went away, {} that made room; {} windows and strided keys, {} ended by "
                     "peers, {} here",
                     did.work_requests, did.doorbells, did.registrations, did.registrations_met,
                     did.registrations_gone, did.registrations_evicted, did.windows_bound, did.closed_by_peer,
                     did.closed_here)
             .c_str());
} catch (const std::bad_alloc&) {
  // Likewise.
}

}  // namespace stria::verbs
