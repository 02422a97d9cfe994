// What a worker keeps of the addresses of its peers until it connects: the parts that its own devices can
// use, one behind the other in blocks. So an address of shm takes 52 bytes and no allocation of its own.
//
//   | parts 1 | then for each | device 1 | bytes 2 | bytes of the provider |
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace stria::tag {

/// A kept address; null: none.
using KeptAddress = const std::byte*;

/// The part for a device of the worker; empty when the address has none.
std::span<const std::byte> part_of(KeptAddress kept, std::uint8_t device) noexcept;

/// Addresses stay until the store goes.
class AddressStore {
 public:
  struct Part {
    std::uint8_t device;
    std::span<const std::byte> bytes;  ///< at most 65535
  };
  /// At most 255 parts. Throws bad_alloc.
  KeptAddress keep(std::span<const Part> parts);

 private:
  static constexpr std::size_t kBlock = 1024;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;
  std::size_t room_ = 0;
};

}  // namespace stria::tag
