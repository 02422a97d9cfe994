// RemoteKey: the packed key of a region, parsed once: what the region's owner allows, and the key that each
// of the owner's devices gave, found by the number of the device that uses it. A packed key is a KeyHead,
// then for each device the length of its provider's name (1 byte), the name, the device's index among those
// of the provider (1 byte), the length of the key (1 byte), and the key.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tag/objects.hpp"

namespace stria::tag {

struct RemoteKey {
  struct Part {
    std::string provider;
    std::uint8_t device;  ///< index among the devices of the provider
    stria_provider_key_t key;
  };
  RemoteKey() = default;
  /// A move keeps the vector's buffer, so the pointers in of_device stay valid.
  RemoteKey(RemoteKey&&) = default;

  KeyHead head;
  std::vector<Part> parts;
  std::uint64_t user = 0;  ///< id of the worker that of_device is for; other workers may use the key, too
  std::array<const stria_provider_key_t*, STRIA_DEVICES_MAX> of_device{};  ///< by number of the user's device
};

/// Parses a packed key. invalid: no key of this version; another length than it says; unknown rights.
Result<RemoteKey> parse_key(std::span<const std::byte> packed);

/// The key of the provider's device of index `device`; bytes == 0 when there is none.
const stria_provider_key_t& part_for(const RemoteKey& key, std::string_view provider,
                                     std::uint8_t device) noexcept;

}  // namespace stria::tag
