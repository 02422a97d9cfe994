// Hands each message that arrives, from UCX or from the device itself, to its handler: packets to the worker,
// control messages to Peers. A call of progress handles at most its budget, and nothing is handled outside of
// progress. Further messages that UCX brings are stashed in their order, and progress does not ask UCX for
// more before the stash is empty.
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

  /// Called by UCX with a message. Returns whether `bytes` are kept after the call, which only a message that
  /// `lasts` allows.
  bool arrived(Am id, std::span<const std::byte> bytes, bool lasts) noexcept;
  /// Handles up to `budget` messages, or fewer when the worker has no receive for more. Returns how many; at
  /// least 1 when UCX did anything.
  unsigned receive(unsigned budget) noexcept;
  /// Asks UCX for messages and stashes them for receive(). False: UCX had nothing to do.
  bool poll_into_stash() noexcept;
  /// The last receive() or poll_into_stash() asked UCX and found it idle, and the stash is empty.
  bool is_drained() const noexcept { return stash_.is_empty() && is_quiet_; }
  /// No message waits, from UCX or from the device itself.
  bool is_empty() const noexcept { return stash_.is_empty() && parts_.shared.loop.is_empty(); }
  /// From now on packets are dropped; control messages are still handled.
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
  unsigned room_ = 0;      // messages that this call of receive() may still handle; 0 outside
  bool go_on_ = false;     // the worker is ready for another packet
  bool handling_ = false;  // a message is being handled: one that arrives meanwhile is stashed
  bool is_quiet_ = false;  // UCX's progress handled no event when it was last called
  bool closed_ = false;
};

}  // namespace stria::uct
