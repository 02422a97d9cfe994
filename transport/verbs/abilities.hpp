// What the links of a device can do, decided once from the adapter's traits and the settings.
#pragma once

#include <cstdint>
#include <string>

#include "transport/verbs/adapter.hpp"
#include "transport/verbs/packets.hpp"
#include "transport/verbs/settings.hpp"

namespace stria::verbs {

/// The longest payload that is gathered on the stack and travels inside the work request.
inline constexpr std::uint32_t kMostShort = 512;

struct Abilities {
  std::uint32_t pio_max = 0;  ///< payload inside a work request; 0: none
  std::uint32_t eager_max = 0;
  /// With iWARP a message completes before a read that was posted earlier: each request asks for a completion
  /// of its own, which says nothing of others.
  bool completes_singly = false;
  /// With iWARP a write is complete when it left, which says nothing of the peer's memory.
  bool can_put = false;
  bool has_atomics = false;
  bool sends_invalidate = false;
  bool gathers = false;  ///< strided keys
  /// Of an adapter that does all its repetitions, generously; rxe without its interface has no end of them.
  std::uint64_t longest_silence_ms = 0;
  std::string path;  ///< what links say of it

  std::uint32_t pio_mtu() const noexcept {
    return pio_max + static_cast<std::uint32_t>(sizeof(stria_header_t));
  }
};

Abilities abilities_of(const Adapter& adapter, const Settings& settings);

}  // namespace stria::verbs
