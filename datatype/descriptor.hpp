// The compact wire form of a layout: O(depth) bytes for regular memory, O(n) only for what is irregular.
//
//   byte 0      version (kDescriptorVersion)
//   byte 1      flags: bit 0 = explicit bounds; the others 0
//   signed      origin, lower bound, extent
//   node        tag byte, then by form
//                 0 block      bytes
//                 1 strided    count, stride (signed), node
//                 2 indexed    n, n-1 displacement differences (signed), node
//                 3 blocks     n, n-1 displacement differences (signed), n lengths
//                 4 composite  n, n-1 displacement differences (signed), n nodes
//
// Integers are little-endian base-128, and must have the shortest form; signed ones are zigzag-mapped first.
// So an accepted descriptor is the only encoding of its layout, and does not depend on the host's byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "datatype/layout.hpp"

namespace stria::datatype {

inline constexpr std::uint8_t kDescriptorVersion = 1;

/// Most memory, in bytes, that decoding takes for each byte of a descriptor: a node and its entry in a
/// composite take 2 bytes of the descriptor.
inline constexpr std::size_t kDecodedPerByte = (sizeof(Node) + 32) / 2;

/// Limits that decode() keeps, whatever the descriptor claims.
struct DescriptorLimits {
  std::size_t max_descriptor_bytes = std::size_t{64} << 20;  ///< length of the input
  std::int64_t max_packed_bytes = INT64_MAX;                 ///< size() of the layout
  /// Memory for records (record.hpp). When it is used up, further nodes get no record: their elements are
  /// walked, which is slower and gives the same bytes. An error would refuse real layouts, which may repeat
  /// as many different elements as hostile ones.
  std::size_t max_record_bytes = std::size_t{64} << 10;
};

/// The descriptor of a layout. Setup only: allocates.
std::vector<std::byte> encode(const Layout& layout);
/// The descriptor of a layout if it has at most `most` bytes; otherwise empty. Encoding stops soon after
/// `most` bytes. A shared node is written once for each place where it stands, so the descriptor of a small
/// tree may be very long.
std::optional<std::vector<std::byte>> encode(const Layout& layout, std::size_t most);

/// Decodes a descriptor that came from a peer. The input may be hostile: every count is checked against the
/// bytes left before anything is allocated, every derived value against 64 bits, the depth against kMaxDepth;
/// trailing bytes are refused. Memory used is at most kDecodedPerByte times the input, and max_record_bytes.
/// Errors: invalid, with the reason. The result equals the encoded layout exactly. Before use the caller
/// still checks reach() against the bounds of the memory's owner.
Result<Layout> decode(std::span<const std::byte> descriptor, const DescriptorLimits& limits = {});

}  // namespace stria::datatype
