// What a path can do, in words: the name and meaning of every capability bit and of every limit that a
// provider's device states (stria_capabilities_t). One table serves the text output, the JSON output and the
// documentation, and the code above asks has() for a capability, never for a device's name.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "stria/provider.h"

namespace stria::hw {

using Capabilities = stria_capabilities_t;

/// One bit of Capabilities::flags.
struct CapabilityBit {
  std::uint64_t bit;    ///< STRIA_CAP_*
  const char* name;     ///< "send_invalidate": a key in JSON
  const char* meaning;  ///< one clause for people
};

/// One number of Capabilities.
struct CapabilityLimit {
  std::uint32_t Capabilities::*member;
  const char* name;     ///< the member's name
  const char* unit;     ///< "bytes", "windows", ...
  const char* meaning;  ///< one clause for people
  const char* zero;     ///< what 0 means: "none", "any"
};

/// Every bit, in the order of provider.h. Constant.
std::span<const CapabilityBit> capability_bits() noexcept;
/// Every number, in the order of the structure. Constant.
std::span<const CapabilityLimit> capability_limits() noexcept;

/// Whether the device has all of `bits`.
constexpr bool has(const Capabilities& capabilities, std::uint64_t bits) noexcept {
  return (capabilities.flags & bits) == bits;
}

/// One line a capability, "yes" or "-" and its meaning, then one line a limit; every line begins with
/// `indent` blanks.
std::string to_text(const Capabilities& capabilities, int indent = 0);
/// The names of the bits that are set, "pio, eager, get"; "none" without any. Bits without a name show as
/// "bit 40".
std::string names_of(std::uint64_t flags);

}  // namespace stria::hw
