// EarlyMessages: matchable packets that overtook an earlier packet of their peer on another path, and wait
// for their turn. Few peers ever have such packets, so they lie apart from the peers; Peer::has_early says
// that a peer has some.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "eager/receive.hpp"
#include "tag/fail_peer.hpp"
#include "transport/contract.hpp"

namespace stria::tag {

/// Threads: called with the worker's lock held.
class EarlyMessages {
 public:
  struct Stashed {
    stria_header_t header;
    bool buffered;
    std::vector<std::byte> payload;

    transport::Packet packet() const noexcept {
      return {&header, payload.data(), static_cast<std::uint32_t>(payload.size()), buffered, 0};
    }
  };

  /// Keeps a copy of a packet whose turn is later, and whose payload `eager` counted. Payload is bounded by
  /// the peer's credit, headers by the half of the sequence numbers that means "early". When a packet cannot
  /// be kept, its peer fails. Returns STRIA_DELIVERED_LATER when the sender stands still while it writes the
  /// packet, which is then not counted any more; else 0.
  [[gnu::cold, gnu::noinline]] std::uint32_t keep(Peer& peer, const transport::Packet& packet,
                                                  eager::Receiver& eager, const FailPeer& fail) noexcept;
  /// Removes and returns the packet of the peer whose turn it is; none when that packet has not come yet.
  [[gnu::cold, gnu::noinline]] std::optional<Stashed> take_next(Peer& peer) noexcept;
  /// Drops all packets of the peer; `eager` hears that their payload is gone.
  void drop(Peer& peer, eager::Receiver& eager) noexcept;

 private:
  bool store(Peer& peer, const transport::Packet& packet);

  /// By peer index; entries stay.
  std::unordered_map<std::uint32_t, std::map<std::uint16_t, Stashed>> of_peer_;
};

}  // namespace stria::tag
