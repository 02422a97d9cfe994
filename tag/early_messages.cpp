#include "tag/early_messages.hpp"

#include <new>
#include <utility>

#include "base/log.hpp"
#include "transport/payload.hpp"

namespace stria::tag {
namespace {

constexpr std::uint16_t kMaxAhead = 0x7fff;  // a sequence number farther ahead is one of the past

}  // namespace

std::uint32_t EarlyMessages::keep(Peer& peer, const transport::Packet& packet, eager::Receiver& eager,
                                  const FailPeer& fail) noexcept {
  const transport::Arrival came = transport::arrival(packet);
  const bool counted = wire::has_payload(*packet.header);
  if (came == transport::Arrival::later) {
    if (counted) {
      eager.consumed(peer, packet.bytes);
      eager.undo_arrival(peer, packet.bytes);
    }
    return STRIA_DELIVERED_LATER;
  }
  const auto ahead = static_cast<std::uint16_t>(packet.header->sequence - peer.recv_sequence);
  bool kept = false;
  try {
    const bool whole = came == transport::Arrival::whole;
    kept = whole && ahead <= kMaxAhead && store(peer, packet);
    if (!whole) fail(peer, Status::peer_failed);
    if (whole && !kept) {
      log::error("worker {:#x} used a sequence number a second time; it is given up", peer.worker_id);
      fail(peer, Status::io_error);
    }
  } catch (const std::bad_alloc&) {
    log::error("out of memory for a message of {} bytes that came out of order; its sender is given up",
               packet.bytes);
    fail(peer, Status::io_error);
  }
  if (!kept && counted) eager.consumed(peer, packet.bytes);
  return 0;
}

/// False: a packet with this sequence number is kept already. Throws bad_alloc.
bool EarlyMessages::store(Peer& peer, const transport::Packet& packet) {
  const auto* payload = static_cast<const std::byte*>(packet.payload);
  const bool kept =
      of_peer_[peer.index]
          .try_emplace(packet.header->sequence,
                       Stashed{*packet.header, packet.buffered != 0, {payload, payload + packet.bytes}})
          .second;
  if (kept) peer.has_early = true;
  return kept;
}

std::optional<EarlyMessages::Stashed> EarlyMessages::take_next(Peer& peer) noexcept {
  auto& early = of_peer_.find(peer.index)->second;
  const auto next = early.find(peer.recv_sequence);
  if (next == early.end()) {
    peer.has_early = !early.empty();
    return std::nullopt;
  }
  std::optional<Stashed> taken(std::move(next->second));
  early.erase(next);
  return taken;
}

void EarlyMessages::drop(Peer& peer, eager::Receiver& eager) noexcept {
  if (!peer.has_early) return;
  auto& early = of_peer_.find(peer.index)->second;
  for (const auto& [sequence, stashed] : early)
    if (wire::has_payload(stashed.header)) eager.consumed(peer, stashed.payload.size());
  early.clear();
  peer.has_early = false;
}

}  // namespace stria::tag
