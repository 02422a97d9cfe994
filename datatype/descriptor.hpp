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
// Integers are little-endian base-128 with the shortest form required; signed ones are zigzag-mapped first.
// So an accepted descriptor is the only encoding of its layout, and the form does not depend on byte order.
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

/// Memory of a tree for each byte of its descriptor, at most: a node, and its place in a composite, for 2
/// bytes.
inline constexpr std::size_t kDecodedPerByte = (sizeof(Node) + 32) / 2;

/// What a decoder accepts at most, whatever the descriptor claims.
struct DescriptorLimits {
  std::size_t max_descriptor_bytes = std::size_t{64} << 20;  ///< length of the input
  std::int64_t max_packed_bytes = INT64_MAX;                 ///< size() of the layout
  /// Memory for records (record.hpp). Elements beyond are walked, no less right: real layouts may repeat as
  /// many different elements as hostile ones, and only hostile ones need no speed.
  std::size_t max_record_bytes = std::size_t{64} << 10;
};

/// Setup cost: allocates.
std::vector<std::byte> encode(const Layout& layout);
/// The same if it has at most `most` bytes; else empty, after reading as much of the tree as gives so many. A
/// shared node is written wherever it stands, so a small tree may have a descriptor of any length.
std::optional<std::vector<std::byte>> encode(const Layout& layout, std::size_t most);

/// Reads a descriptor from a peer. The input is hostile: every count is checked against the bytes left before
/// anything is allocated, every derived value against 64 bits, depth against kMaxDepth, trailing bytes are
/// refused. Memory used is at most kDecodedPerByte times the input, and max_record_bytes. Errors: invalid,
/// with the reason. The result equals the encoded layout exactly; reach() and the owner's bounds are still to
/// be checked before use.
Result<Layout> decode(std::span<const std::byte> descriptor, const DescriptorLimits& limits = {});

}  // namespace stria::datatype
