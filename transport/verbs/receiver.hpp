// The receiving side of a device: packets out of the shared receive queue, the buffers that go back to it,
// and the credits that go back to peers.
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
  /// `buffers`: what is posted to the queue.
  void open(ReceiveBuffers& buffers, std::uint32_t most_links) {
    buffers_ = &buffers;
    credits_due_.reserve(most_links);
  }

  /// Handles up to `budget` completions of the queue; returns how many.
  unsigned receive(unsigned budget) noexcept;
  /// Sends credits to peers that wait for them, where there is room.
  void return_credits() noexcept;
  /// Looks at the queue and delivers nothing. True: there is nothing to be done.
  bool look() noexcept;
  bool is_busy() const noexcept { return next_ != end_ || !credits_due_.empty(); }
  /// The last look found nothing more: all that came has been delivered.
  bool is_drained() const noexcept { return drained_ && next_ == end_; }
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
  unsigned next_ = 0, end_ = 0;                  // of the batch
  ReceiveBuffer* used_[ReceiveBuffers::kBatch];  // to be posted again,
  Link* used_by_[ReceiveBuffers::kBatch];        // and whose credits they are; null: nobody's
  unsigned used_count_ = 0;
  bool drained_ = false;  // the last look at the receive queue found nothing
  std::vector<Link*> credits_due_;
};

}  // namespace stria::verbs
