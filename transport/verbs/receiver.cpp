#include "transport/verbs/receiver.hpp"

#include <cstring>

#include "base/format.hpp"
#include "transport/verbs/ends.hpp"
#include "transport/verbs/key_maker.hpp"
#include "transport/verbs/links.hpp"
#include "transport/verbs/peers.hpp"

namespace stria::verbs {

/// The link that a completion of the receive queue belongs to; null: the link is gone.
Link* Receiver::link_of(const ibv_wc& completion) noexcept {
  if (completion.status == IBV_WC_SUCCESS && completion.byte_len >= sizeof(Prefix)) {
    Prefix prefix;
    std::memcpy(&prefix, reinterpret_cast<ReceiveBuffer*>(completion.wr_id)->packet(), sizeof prefix);
    Link* const link = parts_.links.by_number(prefix.link);
    if (link != nullptr && link->queue().queue_pair_number() == completion.qp_num) [[likely]]
      return link;
  }
  Link* const link = parts_.links.by_queue_pair(completion.qp_num);
  if (link != nullptr || !parts_.peers.has_news()) return link;
  // A peer's first packet may come before the news of its connection was taken.
  static_cast<void>(parts_.peers.take_news(~0u));
  return parts_.links.by_queue_pair(completion.qp_num);
}

void Receiver::poll() noexcept {
  const int n = ::ibv_poll_cq(parts_.shared.adapter->recv_cq, ReceiveBuffers::kBatch, batch_);
  next_ = 0;
  end_ = n > 0 ? static_cast<unsigned>(n) : 0;
}

bool Receiver::poll_into_batch() noexcept {
  poll();
  return end_ == 0;
}

unsigned Receiver::receive(unsigned budget) noexcept {
  unsigned handled = 0;
  while (handled < budget) {
    if (next_ == end_) {
      post_again();
      poll();
      drained_ = end_ == 0;
      if (drained_) break;
    }
    const ibv_wc completion = batch_[next_];
    // Libraries write the rkey only where a key was invalidated: none is left for the next use of the entry.
    batch_[next_++].invalidated_rkey = 0;
    receive_one(completion);
    ++handled;
  }
  post_again();
  return handled;
}

/// Handles one completion: credits, the end of a key, and the packet.
void Receiver::receive_one(const ibv_wc& completion) noexcept {
  auto* const buffer = reinterpret_cast<ReceiveBuffer*>(completion.wr_id);
  Link* const link = link_of(completion);
  Link*& whose = used_by_[used_count_];
  used_[used_count_] = buffer;
  whose = nullptr;
  ++used_count_;
  if (link == nullptr) return;
  if (completion.status != IBV_WC_SUCCESS) {
    parts_.shared.ends->fail(*link, Ends::reason_of(completion.status),
                             fmt::format("receiving: {} (vendor error {:#x})",
                                         ::ibv_wc_status_str(completion.status), completion.vendor_err));
    return;
  }
  const std::byte* const packet = buffer->packet();
  Prefix prefix{};
  if (completion.byte_len >= sizeof prefix) std::memcpy(&prefix, packet, sizeof prefix);
  const bool is_data = prefix.kind == PacketKind::pio || prefix.kind == PacketKind::buffered ||
                       prefix.kind == PacketKind::closing;
  const bool is_known = is_data || prefix.kind == PacketKind::greeting || prefix.kind == PacketKind::credit;
  if (!is_known || completion.byte_len < (is_data ? kHeadBytes : sizeof prefix) || !link->take(prefix)) {
    parts_.shared.ends->fail(
        *link, Status::io_error,
        fmt::format("the peer sent a packet that breaks the protocol (kind {}, {} bytes, {} credits)",
                    static_cast<unsigned>(prefix.kind), completion.byte_len, prefix.credits));
    return;
  }
  if (!is_data) {
    // The buffer of a greeting or of a packet of credits is no credit. But either of them may allow that this
    // side sends a packet of credits again.
    if (link->credits().are_due()) credits_due_.push_back(link);
    return;
  }
  whose = link;
  if (prefix.kind == PacketKind::closing) {
    // The flag IBV_WC_WITH_INV is not to be trusted (rxe sets another bit). The rkey is, unless the field has
    // immediate data, which the peer makes up.
    const bool is_key = (completion.wc_flags & IBV_WC_WITH_IMM) == 0;
    if (is_key && parts_.keys.end_by_message(*link, completion.invalidated_rkey))
      ++parts_.shared.counters.closed_by_peer;
  }
  deliver(*link, prefix, packet, completion.byte_len);
}

void Receiver::deliver(Link& link, const Prefix& prefix, const std::byte* packet,
                       std::uint32_t bytes) noexcept {
  stria_header_t header;
  std::memcpy(&header, packet + sizeof prefix, sizeof header);
  const transport::Packet arrived{&header, packet + kHeadBytes, bytes - kHeadBytes,
                                  prefix.kind == PacketKind::buffered ? 1u : 0u, 0};
  parts_.sink.deliver(parts_.sink.self, link.origin().cookie, &arrived);
}

/// Posts the used buffers again, and then counts them as credits: a peer is promised posted buffers only.
void Receiver::post_again() noexcept {
  if (used_count_ == 0) return;
  const unsigned count = used_count_;
  used_count_ = 0;
  if (!buffers_->post(used_, count)) {
    parts_.shared.services->log(4, "verbs: ibv_post_srq_recv failed; buffers are lost");
    return;
  }
  for (unsigned i = 0; i < count; ++i) {
    Link* const link = used_by_[i];
    if (link == nullptr) continue;
    link->credits().owe();
    if (link->credits().are_due()) credits_due_.push_back(link);
  }
}

void Receiver::return_credits() noexcept {
  if (credits_due_.empty()) return;
  std::erase_if(credits_due_, [](Link* link) { return link->return_credits(); });
}

}  // namespace stria::verbs
