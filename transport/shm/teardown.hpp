// Takes links down: when the peer's device closed, when its process died, when the peer refused this device,
// or when it wrote a record that makes no sense. What the peer sent, up to such a record, is delivered
// first. A device has a write lock on its own memfd as long as its process lives, whatever kills the
// process, so asking for the lock (F_GETLK) tells whether the process is alive.
#pragma once

#include "transport/shm/peers.hpp"
#include "transport/shm/receiver.hpp"
#include "transport/shm/window_sharing.hpp"

namespace stria::shm {

/// Threads: the device's thread only.
class Teardown {
 public:
  struct Parts {
    Shared& shared;
    Connector& connector;
    Peers& peers;
    Receiver& receiver;
    WindowSharing& sharing;
  };
  explicit Teardown(const Parts& parts) noexcept : parts_(parts) {}

  /// Takes down every link that cannot stay (fate()). For the other links: unmaps memory that the peer freed,
  /// renews the distance, and gives windows back or takes them (WindowSharing).
  void check() noexcept;
  /// For close(): whether a peer still needs this process to receive what was sent to it. look_closely: asks
  /// whether the peers live; otherwise they are taken to live.
  bool is_needed(bool look_closely) const noexcept;

 private:
  Status fate(const Link& link) const noexcept;
  void renew_distance(Link& link) noexcept;
  void take_down(Link& link, Status why, bool is_over) noexcept;
  bool is_needed_by(const Link& link, bool look_closely) const noexcept;

  const Parts parts_;
};

}  // namespace stria::shm
