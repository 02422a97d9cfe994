#include "tag/remote_access.hpp"

#include <cstring>

namespace stria::tag {

RemoteAccess::RemoteAccess(const Devices& devices, Activity& activity, Peers& peers, rndv::Engine& rndv,
                           const Regions& regions) noexcept
    : devices_(devices),
      activity_(activity),
      peers_(peers),
      rndv_(rndv),
      regions_(regions),
      atomics_({this, &RemoteAccess::on_atomic_ended}) {}

bool RemoteAccess::serve_rma(Peer& peer, const stria_packet_t& packet, bool is_get) noexcept {
  wire::RmaBody body;
  if (packet.bytes != sizeof(body)) return false;
  std::memcpy(&body, packet.payload, sizeof(body));
  const std::uint64_t region = packet.header->tag;
  stria_payload_t memory{};
  if (is_get) {
    const Status status = regions_.find(region, STRIA_ACCESS_REMOTE_READ, body, memory);
    rndv_.serve_get(peer.link, region, body, memory, status);
  } else {
    const Status status = regions_.find(region, STRIA_ACCESS_REMOTE_WRITE, body, memory);
    rndv_.serve_put(peer.link, region, body, memory, status);
  }
  return true;
}

unsigned RemoteAccess::flush(Peer& peer) noexcept {
  unsigned moved = 0;
  if (peer.answers_due) moved += flush_answers(peer);
  if (!peer.one_sided.empty()) moved += flush_one_sided(peer);
  return moved;
}

void RemoteAccess::fail(Peer& peer, Status why) noexcept {
  end(peer.one_sided, why);  // the peer is not up any more, so callbacks add nothing
  peer.answers_due = false;
  atomics_.fail_link(peer.link, why);
}

void RemoteAccess::end_all(Status why) noexcept {
  while (RmaOp* op = provider_rma_.pop_front()) complete(*Request::of(*op), why);
  atomics_.end_all(why);
}

}  // namespace stria::tag
