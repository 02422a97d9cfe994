#include "tag/peer_table.hpp"

#include <utility>

namespace stria::tag {
namespace {

constexpr std::size_t kFirstSlots = 16;

// Worker ids are random. The multiplication keeps ids that a peer chose on purpose from falling together by
// their low bits.
std::size_t hash(std::uint64_t worker_id) noexcept {
  return static_cast<std::size_t>((worker_id * 0x9e3779b97f4a7c15u) >> 32);
}

}  // namespace

std::uint32_t& PeerTable::slot_of(std::uint64_t worker_id) noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash(worker_id) & mask;
  while (slots_[at] != 0 && peers_[slots_[at] - 1].worker_id != worker_id) at = (at + 1) & mask;
  return slots_[at];
}

Peer* PeerTable::find(std::uint64_t worker_id) const noexcept {
  if (slots_.empty()) return nullptr;
  const std::uint32_t found = const_cast<PeerTable*>(this)->slot_of(worker_id);
  return found != 0 ? &peers_[found - 1] : nullptr;
}

Peer& PeerTable::add(std::uint64_t worker_id) {
  if (Peer* known = find(worker_id); known != nullptr) return *known;
  if (std::uint64_t{size()} * 4 >= slots_.size() * 3) grow();
  std::uint32_t& slot = slot_of(worker_id);
  Peer& peer = peers_.append();
  slot = size();
  peer.index = size() - 1;
  peer.worker_id = worker_id;
  return peer;
}

void PeerTable::grow() {
  slots_ = std::vector<std::uint32_t>(slots_.empty() ? kFirstSlots : 2 * slots_.size());
  for (std::uint32_t i = 0; i < size(); ++i) slot_of(peers_[i].worker_id) = i + 1;
}

}  // namespace stria::tag
