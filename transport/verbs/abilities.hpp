// What the links of a device can do, decided once from the adapter's traits and the settings.
#pragma once

#include <cstdint>
#include <string>

#include "transport/verbs/adapter.hpp"
#include "transport/verbs/packets.hpp"
#include "transport/verbs/settings.hpp"

namespace stria::verbs {

/// Longest payload, in bytes, that eager_send gathers on the stack and posts inside the work request.
inline constexpr std::uint32_t kMostShort = 512;

struct Abilities {
  std::uint32_t pio_max = 0;    ///< most payload bytes inside a work request; 0: none
  std::uint32_t eager_max = 0;  ///< most payload bytes of an eager message
  /// Each work request asks for a completion of its own, which says nothing of other requests: with iWARP a
  /// message completes before a read that was posted earlier.
  bool completes_singly = false;
  /// Whether links have put. Not with iWARP: there a write is complete when it has left this host, and may
  /// not be in the peer's memory yet.
  bool can_put = false;
  bool has_atomics = false;
  bool sends_invalidate = false;
  bool gathers = false;  ///< whether the adapter has strided keys
  /// How long a peer may leave requests without an answer, until it is given up: generously more than an
  /// adapter needs for all its retransmissions. (rxe without its interface retransmits without end.)
  std::uint64_t longest_silence_ms = 0;
  std::string path;  ///< LinkLimits::path of every link

  std::uint32_t pio_mtu() const noexcept {
    return pio_max + static_cast<std::uint32_t>(sizeof(stria_header_t));
  }
};

Abilities abilities_of(const Adapter& adapter, const Settings& settings);

}  // namespace stria::verbs
