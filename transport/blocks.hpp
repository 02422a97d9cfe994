// Memory behind one key: equal blocks at equal distances, as a packed stream. The key names the blocks, so
// that the reader asks the adapter for each block by itself, and no side packs. One block is contiguous
// memory.
//
//   first        first + stride         first + 2 stride      a negative stride goes down
//   | block |    | block |              | block |             bytes = blocks times block
#pragma once

#include <cstdint>

#include "transport/contract.hpp"

namespace stria::transport {

struct Blocks {
  std::uint64_t first = 0;  ///< address of the first block
  std::uint64_t bytes = 0;  ///< of all blocks: the length of the stream
  std::uint64_t block = 0;  ///< bytes of one block
  std::int64_t stride = 0;  ///< bytes from the start of a block to the start of the next

  bool is_one() const noexcept { return block == bytes; }
};

/// Contiguous memory, or the stretch from the lowest byte of some memory to the highest.
struct Span {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

/// Finds the span from the lowest byte of the blocks to the highest. False: no owner makes a key to such
/// blocks (a peer's key is not to be trusted). They have no bytes, or the last one is cut, or they lie beyond
/// the addresses that there are.
bool span_of(const Blocks& memory, Span& span) noexcept;

/// The memory from `offset` of the stream, less than its length, to the end of the block there.
inline Span run_at(const Blocks& memory, std::uint64_t offset) noexcept {
  if (memory.is_one()) return {memory.first + offset, memory.bytes - offset};
  const std::uint64_t index = offset / memory.block, within = offset % memory.block;
  return {memory.first + index * static_cast<std::uint64_t>(memory.stride) + within, memory.block - within};
}

/// Describes all instances of a payload's layout as blocks, for a key to them. False: they are not equal
/// blocks at equal distances, or packing them takes no longer than asking for each block, or they lie too far
/// apart for all memory between them to be registered.
bool describe(const stria_services_t& services, const Payload& memory, Blocks& out, Span& span) noexcept;

/// Whether `bytes` bytes that lie within `span` bytes of memory may be registered with all gaps between them:
/// the span is short, or not kSparse times longer than the bytes (blocks.cpp).
bool is_dense(std::uint64_t span, std::uint64_t bytes) noexcept;

/// Finds the span from the lowest byte of a payload's range to the highest. False: the range has too many
/// runs to look at, or they lie too far apart.
bool span_of(const stria_services_t& services, const Payload& memory, Span& span) noexcept;

}  // namespace stria::transport
