// Sleeping and waking. A device that wants to sleep sets `armed` in its segment and looks once more whether
// something came; whoever publishes looks at `armed` afterwards and notifies: a datagram to the device's
// abstract socket, which is the descriptor it sleeps on.
//
// Who notified clears `armed`, so that the others need not for this sleep. The order is notify, then clear: a
// sender that dies in between has woken the device, and before that has taken nothing from the others. So
// several may notify for one sleep, and `armed` is the sleep's number: a sender that clears late clears no
// later one.
//
// "Publish, then look" against "arm, then look" needs a full fence on both sides. Senders are many and hot,
// so the sleeper pays for both: membarrier(GLOBAL_EXPEDITED) makes every registered process fence. Where the
// kernel refuses membarrier, senders fence themselves.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace stria::shm {

/// Registers this process for membarrier; false: senders of this process must fence. Once a process.
bool register_barrier() noexcept;

class Wakeup {
 public:
  Result<void> open(std::uint64_t nonce);
  int fd() const noexcept { return socket_.get(); }
  /// Takes the datagrams out, so that the descriptor is not readable any more.
  void clear() noexcept;
  /// Wakes the device of `nonce`. Never blocks.
  [[gnu::cold, gnu::noinline]] void notify(std::uint64_t nonce) const noexcept;
  /// Between setting `armed` and looking: every sender that does not see `armed` has published before.
  static void barrier() noexcept;

 private:
  UniqueFd socket_;
};

}  // namespace stria::shm
