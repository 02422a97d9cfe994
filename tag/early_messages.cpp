#include "tag/early_messages.hpp"

#include <utility>

namespace stria::tag {

bool EarlyMessages::keep(Peer& peer, const transport::Packet& packet) {
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

void EarlyMessages::drop(Peer& peer, eager::Receiver& receiver) noexcept {
  if (!peer.has_early) return;
  auto& early = of_peer_.find(peer.index)->second;
  for (const auto& [sequence, stashed] : early)
    if (wire::has_payload(stashed.header)) receiver.consumed(peer, stashed.payload.size());
  early.clear();
  peer.has_early = false;
}

}  // namespace stria::tag
