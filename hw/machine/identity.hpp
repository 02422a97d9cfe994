// What a profile holds for: this host, its processor, its kernel, its hypervisor, and how many processors
// there are. A profile of anything else is stale.
#pragma once

#include <cstdint>
#include <string>

namespace stria::hw {

struct Identity {
  std::string host, processor, hypervisor, kernel;
  std::string vectors;  ///< which instructions copies use: they are part of what is measured
  long processors = 0;  ///< of the machine, whether this process may use them or not
  friend bool operator==(const Identity&, const Identity&) = default;

  static Identity of_this_machine();
  /// A hash of all of it.
  std::uint64_t fingerprint() const noexcept;
  /// The name of the profile's file: host and fingerprint, of characters that any file system takes.
  std::string file_name() const;
};

}  // namespace stria::hw
