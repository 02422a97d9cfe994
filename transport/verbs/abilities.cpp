#include "transport/verbs/abilities.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace stria::verbs {

Abilities abilities_of(const Adapter& adapter, const Settings& settings) {
  const hw::VerbsTraits& traits = adapter.traits;
  Abilities out;
  out.eager_max = settings.eager_bytes;
  if (traits.inline_bytes > kHeadBytes)
    out.pio_max = std::min({traits.inline_bytes - kHeadBytes, settings.eager_bytes, kMostShort});
  out.completes_singly = traits.iwarp;
  out.can_put = !traits.iwarp;
  out.has_atomics = traits.atomics;
  out.sends_invalidate = traits.send_invalidate && traits.has_windows();
  out.gathers = adapter.strided.has_value();
  // A packet is sent up to seven times (kRetries in handshake.cpp), each with the timeout below; twice that.
  constexpr std::uint64_t kTimeouts = std::uint64_t{2} * 7;
  out.longest_silence_ms = 2000 + kTimeouts * ((std::uint64_t{4096} << settings.ack_timeout) / 1000000);
  out.path = fmt::format("{}: {} queue pair, {}", adapter.name, traits.iwarp ? "iWARP" : "RC",
                         !traits.has_windows() ? "reads through a region for each message"
                         : adapter.strided     ? "reads through memory windows and strided keys"
                                               : "reads through memory windows");
  return out;
}

}  // namespace stria::verbs
