// AddressStore: the addresses of a worker's peers. Of each address it keeps the parts that the worker's own
// devices can use, and the name of the peer's host, one behind the other in larger blocks, so that an address
// needs no allocation of its own.
//
//   | count of parts 1 | then for each part | device number 1 | length 2 | the provider's bytes |
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace stria::tag {

/// A kept address; null: none.
using KeptAddress = const std::byte*;

/// The number of the part that has the name of the peer's host.
inline constexpr std::uint8_t kHostPart = 255;

/// The part for the worker's device of number `device`, or kHostPart; empty when the address has none.
std::span<const std::byte> part_of(KeptAddress kept, std::uint8_t device) noexcept;
/// The name of the peer's host; empty when the address does not tell it.
inline std::string_view host_of(KeptAddress address) noexcept {
  const std::span<const std::byte> name = part_of(address, kHostPart);
  return {reinterpret_cast<const char*>(name.data()), name.size()};
}

/// Addresses stay until the store goes.
class AddressStore {
 public:
  struct Part {
    std::uint8_t device;               ///< number of the worker's device that can use the part, or kHostPart
    std::span<const std::byte> bytes;  ///< at most 65535
  };
  /// Stores a copy of these parts. At most 255 parts. Throws bad_alloc.
  KeptAddress keep(std::span<const Part> parts);

 private:
  static constexpr std::size_t kBlock = 1024;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;
  std::size_t room_ = 0;  // bytes from next_ on that are free
};

}  // namespace stria::tag
