// AddressStore: the addresses of a worker's peers. Of each address it keeps the parts that the worker's own
// devices can use, one behind the other in larger blocks, so that an address needs no allocation of its own.
//
//   | count of parts 1 | then for each part | device number 1 | length 2 | the provider's bytes |
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace stria::tag {

/// A kept address; null: none.
using KeptAddress = const std::byte*;

/// The part for the worker's device of number `device`; empty when the address has none.
std::span<const std::byte> part_of(KeptAddress kept, std::uint8_t device) noexcept;

/// Addresses stay until the store goes.
class AddressStore {
 public:
  struct Part {
    std::uint8_t device;               ///< number of the worker's device that can use the part
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
