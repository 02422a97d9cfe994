// EarlyMessages: matchable packets that overtook an earlier one of their peer on another path, and wait for
// their turn. Few peers ever have any, so they lie apart from the peers, and has_early says that some do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "eager/receive.hpp"
#include "tag/peer.hpp"
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

  /// Copies a packet that is all there. False: there is one with its number already. Throws bad_alloc.
  bool keep(Peer& peer, const transport::Packet& packet);
  /// Takes out the packet whose turn it is; none when that did not come yet.
  std::optional<Stashed> take_next(Peer& peer) noexcept;
  /// Drops all of the peer, whose payload `receiver` counted.
  void drop(Peer& peer, eager::Receiver& receiver) noexcept;

 private:
  std::unordered_map<std::uint32_t, std::map<std::uint16_t, Stashed>> of_peer_;  // entries stay
};

}  // namespace stria::tag
