// EarlyMessages: matchable packets that overtook an earlier one of their peer on another path, and wait for
// their turn. Few peers ever have any, so they lie apart from the peers, and has_early says that some do.
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

/// Threads: the worker's lock.
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

  /// Copies a packet whose turn is later, and whose payload `eager` counted. Payload is bounded by the peer's
  /// credit, headers by the half of the sequence numbers that means "early". A packet that cannot be kept
  /// ends its peer. LATER: its sender stands still, and the packet is not counted any more. Else 0.
  [[gnu::cold, gnu::noinline]] std::uint32_t keep(Peer& peer, const transport::Packet& packet,
                                                  eager::Receiver& eager, const FailPeer& fail) noexcept;
  /// Takes out the packet whose turn it is; none when that did not come yet.
  [[gnu::cold, gnu::noinline]] std::optional<Stashed> take_next(Peer& peer) noexcept;
  /// Drops all packets of the peer.
  void drop(Peer& peer, eager::Receiver& eager) noexcept;

 private:
  bool store(Peer& peer, const transport::Packet& packet);

  std::unordered_map<std::uint32_t, std::map<std::uint16_t, Stashed>> of_peer_;  // entries stay
};

}  // namespace stria::tag
