// Links go down: when the peer's device closed, when its process died, when it refused this device, or when
// it wrote a record that makes no sense. Everything that it sent is delivered before. A device's write lock
// on its own memfd lasts as long as its process, whatever kills it, so asking for the lock (F_GETLK) tells
// whether the process is there.
#pragma once

#include "transport/shm/peers.hpp"
#include "transport/shm/receiver.hpp"
#include "transport/shm/sharing.hpp"

namespace stria::shm {

/// The device's thread.
class Ends {
 public:
  struct Parts {
    Shared& shared;
    Connector& connector;
    Peers& peers;
    Receiver& receiver;
    Sharing& sharing;
  };
  explicit Ends(const Parts& parts) noexcept : parts_(parts) {}

  /// Takes down links that are at their end, and looks after the others.
  void check() noexcept;
  /// For close(): whether a peer still needs this process for what was sent to it. look_closely: asks also
  /// whether the peers live.
  bool is_needed(bool look_closely) const noexcept;

 private:
  Status fate(const Link& link) const noexcept;
  void take_down(Link& link, Status why, bool is_over) noexcept;
  bool is_needed_by(const Link& link, bool look_closely) const noexcept;

  const Parts parts_;
};

}  // namespace stria::shm
