// What a device's scheduler picks under the fabric's lock, and what is told to the code above without it.
#pragma once

#include <mutex>

#include "transport/fake/device.hpp"

namespace stria::fake {

struct Device::Event {
  /// placing: some bytes of a payload were written. sent: a zero-copy send is due; its event is an `access`.
  /// distance: the caches of the two sides came nearer, or went apart.
  enum class Kind : std::uint8_t { none, up, ask, placing, packet, down, sent, access, distance };
  Kind kind = Kind::none;
  Link* link = nullptr;
  void* cookie = nullptr;
  QueuedPacket packet{};
  transport::Completion* completion = nullptr;
  Status status = Status::ok;
};

/// Tells what `next` finds, one event after the other, up to as many as `begin` says. Both are called under
/// the fabric's lock. Returns how many were told.
template <class Begin, class Next>
unsigned Device::run(const char* call, Begin&& begin, Next&& next) noexcept {
  const Callers::Upcalls upcalls(callers_, call);
  unsigned told = 0;
  std::unique_lock lock(fabric_->mutex());
  for (const unsigned budget = begin(); told < budget && !dead_; ++told) {
    Event event = next();
    if (event.kind == Event::Kind::none) break;
    lock.unlock();
    dispatch(std::move(event));
    lock.lock();
  }
  return told;
}

}  // namespace stria::fake
