// Takes what comes, from UCX and from the device itself, to where it is handled: packets to the worker,
// control messages to Peers. No more than the budget of a call of progress, and nothing outside of one: what
// UCX brings beyond is kept in a stash, in its order, and UCX is not asked again before that is empty.
#pragma once

#include <cstddef>
#include <span>

#include "transport/contract.hpp"
#include "transport/uct/keys.hpp"
#include "transport/uct/links.hpp"
#include "transport/uct/peers.hpp"
#include "transport/uct/shared.hpp"
#include "transport/uct/stash.hpp"

namespace stria::uct {

class Receiver {
 public:
  struct Parts {
    Shared& shared;
    const transport::Sink& sink;
    Links& links;
    Peers& peers;
    Ends& ends;
    Keys& keys;
  };
  explicit Receiver(const Parts& parts) noexcept : parts_(parts) {}

  /// UCX has a message. True: it is kept, which is for one that `lasts`.
  bool arrived(Am id, std::span<const std::byte> bytes, bool lasts) noexcept;
  /// Handles up to `budget` messages, or fewer when the worker has no receive for more. Returns how many; at
  /// least 1 when UCX did anything.
  unsigned receive(unsigned budget) noexcept;
  /// Asks UCX what has come, and keeps it for receive(). False: there was nothing.
  bool look() noexcept;
  /// The last receive() or look() found nothing, and nothing is kept.
  bool is_drained() const noexcept { return stash_.is_empty() && is_quiet_; }
  bool is_empty() const noexcept { return stash_.is_empty() && parts_.shared.loop.is_empty(); }
  /// Packets are dropped from here on.
  void close() noexcept { closed_ = true; }

 private:
  bool handle(Am id, std::span<const std::byte> bytes, bool lasts) noexcept;
  bool deliver(Am id, std::span<const std::byte> bytes, bool lasts) noexcept;
  void keep(Am id, std::span<const std::byte> bytes) noexcept;
  void handle_all(Stash& stash) noexcept;
  unsigned ask_ucx() noexcept;
  bool may_handle() const noexcept { return room_ > 0 && go_on_; }

  const Parts parts_;
  Stash stash_;
  unsigned room_ = 0;  // messages that this call of receive() may still handle; 0 outside
  bool go_on_ = false;
  bool handling_ = false;
  bool is_quiet_ = true;
  bool closed_ = false;
};

}  // namespace stria::uct
