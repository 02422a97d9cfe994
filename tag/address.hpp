// A worker's address: opaque bytes for the application, with one part for each device inside. The numbers are
// lengths in bytes.
//
//   | 'S' 'T' 'R' 'A' | wire version 1 | count of parts 1 | reserved 2 | worker id 8 |
//   then for each part | length of name 1 | name | device index 1 | length 2 | the provider's bytes |
//
// A device is named by its provider and its index among the provider's devices. A device reaches the peer's
// device of the same index. A part without a name has the name of the worker's host, for messages to people.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace stria::tag {

inline constexpr std::uint32_t kMostNameBytes = 64;  ///< of a provider's name; the loader refuses longer ones
inline constexpr std::uint32_t kMostPartBytes = 256;  ///< of a device's part, without the name
inline constexpr std::uint32_t kMostHostBytes = 64;   ///< of a host's name; a longer one is cut off

class ParsedAddress {
 public:
  std::uint64_t worker_id = 0;
  /// The part of the provider's device of index `device`; empty when the address has none.
  std::span<const std::byte> part(std::string_view provider, std::uint8_t device) const noexcept;
  /// The name of the worker's host; empty when the address does not tell it.
  std::span<const std::byte> host() const noexcept {
    const std::span<const std::byte> name = part({}, 0);
    return name.first(std::min<std::size_t>(name.size(), kMostHostBytes));
  }

 private:
  friend Result<ParsedAddress> parse_address(std::span<const std::byte> bytes);
  std::span<const std::byte> parts_;
  unsigned count_ = 0;
};

/// Parses an address. The result points into `bytes`. Errors: the bytes are no whole address; another wire
/// version (both versions are named).
Result<ParsedAddress> parse_address(std::span<const std::byte> bytes);

struct AddressPart {
  std::string_view provider;
  std::uint8_t device;  ///< its index among those of the provider
  std::span<const std::byte> bytes;
};
/// Leaves the host's name out where the parts leave no room for it in STRIA_ADDRESS_MAX bytes.
std::vector<std::byte> make_address(std::uint64_t worker_id, std::span<const AddressPart> parts,
                                    std::string_view host);

}  // namespace stria::tag
