// Messages that were kept where they arrived while their sender still wrote them. A receive takes what is
// there and what comes; when the sender stands still in the middle, the receive waits in a list, which
// progress looks at, until the payload is all there or the sender is gone. Nothing else waits for it.
#include <algorithm>

#include "tag/worker.hpp"
#include "transport/payload.hpp"

namespace stria::tag {

/// A payload that was not all there when it was kept, as what it was delivered as.
struct Worker::Coming {
  Coming(const Unexpected& entry, const transport::LinkRef& from) noexcept
      : arriving{{nullptr, entry.in_place.payload, static_cast<std::uint32_t>(entry.length),
                  STRIA_PACKET_ARRIVING, entry.in_place.name},
                 &Coming::arrived},
        link(&from) {}
  static std::uint32_t arrived(const stria_arriving_t* self, std::uint32_t bytes) noexcept {
    const stria_packet_t& packet = self->packet;
    return reinterpret_cast<const Coming*>(self)->link->kept_arrived(packet.keep, packet.bytes, bytes);
  }
  stria_arriving_t arriving;  // first: arrived() knows us by it
  const transport::LinkRef* link;
};

/// False: its sender stands still, or is gone.
bool Worker::take_in_place(const Unexpected& entry, const stria_payload_t& memory) noexcept {
  if (!entry.was_coming()) {
    transport::unpack(memory, entry.in_place.payload);
    return true;
  }
  const Coming coming(entry, peers_[entry.source].link);
  return transport::take(memory, coming.arriving.packet) == transport::Arrival::whole;
}

/// Whether a payload is not all there.
bool Worker::is_half(const Unexpected& entry) const noexcept {
  const auto all = static_cast<std::uint32_t>(entry.length);
  return entry.was_coming() && peers_[entry.source].link.kept_arrived(entry.in_place.name, all, 0) < all;
}

/// The receive has the message, so it is in no queue, and is not cancelled.
void Worker::wait_for_rest(Unexpected& entry, const stria_payload_t& memory, Request& request) noexcept {
  Peer& peer = peers_[entry.source];
  if (peer.state != Peer::State::up) {
    free_unexpected(entry);
    cut_short(request, peer);
    return;
  }
  request.state.store(RequestState::active, std::memory_order_relaxed);
  LateRecv& late = request.make_late();
  late.entry = &entry;
  late.memory = memory;
  late_.push_back(&late);
  peer.has_late = true;
  activity_.add_to_backlog(peer);
}

/// Ends the receives of the peer whose messages are all there; of a peer that failed the others, too, with
/// `why`. Returns how many.
unsigned Worker::take_late(Peer& peer, Status why) noexcept {
  unsigned ended = 0;
  // A callback may add receives, or end others: so look anew after each. A sender writes one message at a
  // time.
  const auto next = [&]() -> LateRecv* {
    peer.has_late = false;
    for (LateRecv* late = late_.front(); late != nullptr; late = late_.next(late)) {
      if (late->entry->source != peer.index) continue;
      if (peer.state != Peer::State::up || !is_half(*late->entry)) return late;
      peer.has_late = true;
    }
    return nullptr;
  };
  while (LateRecv* late = next()) {
    late->unlink();
    ++ended;
    Unexpected& entry = *late->entry;
    Request& request = *Request::of(*late);
    const stria_payload_t memory = late->memory;
    const std::uint64_t bytes = std::min(static_cast<std::uint64_t>(memory.length), entry.length);
    if (take_in_place(entry, transport::slice(memory, 0, bytes))) {
      finish_unexpected(entry, memory, request);
    } else {
      free_unexpected(entry);
      complete(request, why);
    }
  }
  return ended;
}

}  // namespace stria::tag
