// The text form of a profile: a line a figure, "name value". What is not measured has no line. The first line
// names the form, the last one holds a hash of all before it, so that a file that was cut short or changed is
// told from a whole one.
//
//   stria machine profile 3
//   fingerprint 0f1e2d3c4b5a6978
//   tries 1
//   complete 1
//   when 1764532800
//   column_plain 8.5
//   …
//   end 5f3e9b0a1c2d4e6f
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hw/machine.hpp"

namespace stria::hw {

/// What the file of a profile has.
struct StoredProfile {
  std::uint64_t fingerprint = 0;  ///< of the machine that was measured
  unsigned tries = 0;             ///< how often it was measured
  std::int64_t when = 0;          ///< when it was measured last, in milliseconds since 1970
  bool complete = false;          ///< the time sufficed to measure all that can be had
  Machine machine;
};

inline constexpr std::size_t kLongestText = 16384;

/// Writes the text form of a profile.
std::string to_text(const StoredProfile& record);
/// Reads the text form of a profile. Nothing: the text is not of that form, or a figure is not positive or
/// absurdly large.
std::optional<StoredProfile> parse_profile(std::string_view text);

}  // namespace stria::hw
