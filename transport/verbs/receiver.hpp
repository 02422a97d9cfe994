// The receiving side of a device: takes packets from the shared receive queue, posts their buffers again, and
// returns credits to peers.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

#include "transport/contract.hpp"
#include "transport/verbs/buffers.hpp"
#include "transport/verbs/packets.hpp"
#include "transport/verbs/shared.hpp"

namespace stria::verbs {

class KeyMaker;
class Link;
class Links;
class Peers;

class Receiver {
 public:
  struct Parts {
    Shared& shared;
    const transport::Sink& sink;
    Links& links;
    KeyMaker& keys;
    Peers& peers;
  };
  explicit Receiver(const Parts& parts) noexcept : parts_(parts) {}
  /// `buffers`: the buffers that are posted to the shared receive queue.
  void open(ReceiveBuffers& buffers, std::uint32_t most_links) {
    buffers_ = &buffers;
    credits_due_.reserve(most_links);
  }

  /// Handles up to `budget` completions of the receive queue; returns how many. Delivers packets.
  unsigned receive(unsigned budget) noexcept;
  /// Sends a packet of credits on each link where one is due, if its send queue has room.
  void return_credits() noexcept;
  /// Polls the receive queue into the batch, which must be empty, and delivers nothing. True: nothing came.
  bool poll_into_batch() noexcept;
  /// Whether a completion of the batch, or a packet of credits, is still to be handled.
  bool is_busy() const noexcept { return next_ != end_ || !credits_due_.empty(); }
  /// Whether the last poll by receive() found the receive queue empty, and nothing is left of the batch: all
  /// packets that had come by then have been delivered.
  bool is_drained() const noexcept { return drained_ && next_ == end_; }
  /// The link is about to be removed.
  void forget(Link& link) noexcept { std::erase(credits_due_, &link); }

 private:
  void poll() noexcept;
  Link* link_of(const ibv_wc& completion) noexcept;
  void receive_one(const ibv_wc& completion) noexcept;
  void deliver(Link& link, const Prefix& prefix, const std::byte* packet, std::uint32_t bytes) noexcept;
  void post_again() noexcept;

  const Parts parts_;
  ReceiveBuffers* buffers_ = nullptr;
  ibv_wc batch_[ReceiveBuffers::kBatch]{};
  unsigned next_ = 0, end_ = 0;                  // the completions of batch_ that are not handled yet
  ReceiveBuffer* used_[ReceiveBuffers::kBatch];  // buffers to be posted again
  Link* used_by_[ReceiveBuffers::kBatch];        // the link that each is a credit of; null: none
  unsigned used_count_ = 0;
  bool drained_ = false;            // the last poll by receive() found nothing
  std::vector<Link*> credits_due_;  // links on which a packet of credits alone may be due
};

}  // namespace stria::verbs
