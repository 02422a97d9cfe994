// The providers there are: built in, named by STRIA_PROVIDERS, or lying in a provider folder; and what the
// devices of each can do, asked of devices opened for the question and closed again.
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"
#include "hw/capabilities.hpp"

namespace stria::info {

struct Device {
  std::string provider;
  std::string label;  ///< the provider's name, and the index where it has several devices
  unsigned index = 0;
  std::string description;
  std::string origin;               ///< "built in" or the library's file
  int rank = 0;                     ///< place in STRIA_PROVIDERS, 1 is first; 0: not in use
  std::vector<std::string> groups;  ///< of the contract, as the provider declares them
  std::string problem;              ///< why it could not be opened; "" if it was
  hw::Capabilities capabilities{};
  unsigned address_bytes = 0;
  std::string path;              ///< of a link to itself; "" when there is none
  std::uint32_t zcopy_max = 0;   ///< of that link
  std::uint32_t latency_ns = 0;  ///< likewise
};

/// Providers in use first, in their order, then the others by name; all devices of each, or one with the
/// problem of its provider.
std::vector<Device> look_for_devices(const Config& config);

}  // namespace stria::info
