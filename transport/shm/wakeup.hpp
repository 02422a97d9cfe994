// The wakeup of a device: how it sleeps, and how senders wake it. A device that wants to sleep stores the
// number of the sleep in `armed` of its segment (0: awake), and then looks once more whether a record has
// come. A sender loads `armed` after it has published a record, and notifies a device that sleeps: by a
// datagram to the device's abstract socket, which is its wakeup descriptor.
//
// A sender that has notified the device clears `armed`, so that other senders need not notify it for this
// sleep. The order is notify, then clear: a sender that dies before it notifies has not kept others from
// doing so. Several senders may so notify for one sleep. A sender clears `armed` only if it still has the
// number of the same sleep, so a late one does not clear a later sleep.
//
// "Publish, then load armed" against "store armed, then look" needs a full fence on both sides. Senders
// publish often and a device sleeps rarely, so the device pays for both: membarrier(GLOBAL_EXPEDITED) makes
// every registered process fence. Where the kernel refuses membarrier, senders fence themselves.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace stria::shm {

/// Registers this process for membarrier, at the first call. False: the kernel refuses, and senders in this
/// process must fence.
bool register_barrier() noexcept;

class Wakeup {
 public:
  /// Opens the wakeup descriptor of the device `nonce`. Errors: io_error; the device can then not sleep.
  Result<void> open(std::uint64_t nonce);
  /// The wakeup descriptor; -1: there is none.
  int fd() const noexcept { return socket_.get(); }
  /// Reads all datagrams, so that the wakeup descriptor is not readable any more.
  void clear() noexcept;
  /// Wakes the device `nonce` by a datagram to its socket. Never blocks.
  [[gnu::cold, gnu::noinline]] void notify(std::uint64_t nonce) const noexcept;
  /// To be called between storing `armed` and looking: a sender that did not see `armed` published its
  /// record before this barrier, so the look sees the record.
  static void barrier() noexcept;

 private:
  UniqueFd socket_;
};

}  // namespace stria::shm
