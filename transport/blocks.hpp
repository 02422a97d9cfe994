// Memory behind one key: equal blocks at equal distances, as a packed stream. The key says which, so that the
// reader asks the adapter for each run by itself, and nobody packs. One block is contiguous memory.
//
//   first        first + stride         first + 2 stride      a negative stride goes down
//   | block |    | block |              | block |             bytes = blocks times block
#pragma once

#include <cstdint>

#include "transport/contract.hpp"

namespace stria::transport {

struct Blocks {
  std::uint64_t first = 0;  ///< address
  std::uint64_t bytes = 0;  ///< of the stream
  std::uint64_t block = 0;  ///< bytes is a multiple of it
  std::int64_t stride = 0;

  bool is_one() const noexcept { return block == bytes; }
};

struct Span {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

/// From the lowest byte to the highest. False for what no owner makes (a peer's key is not to be trusted): no
/// bytes, a block that is cut, or memory beyond the addresses that there are.
bool span_of(const Blocks& memory, Span& span) noexcept;

/// The memory at `offset` of the stream, which is in it, up to the end of its block.
inline Span run_at(const Blocks& memory, std::uint64_t offset) noexcept {
  if (memory.is_one()) return {memory.first + offset, memory.bytes - offset};
  const std::uint64_t index = offset / memory.block, within = offset % memory.block;
  return {memory.first + index * static_cast<std::uint64_t>(memory.stride) + within, memory.block - within};
}

/// All instances of a payload's layout, for a key over them. False: they are no such blocks, or packing them
/// takes no longer than asking for each, or they lie too far apart to be registered whole.
bool describe(const stria_services_t& services, const Payload& memory, Blocks& out, Span& span) noexcept;

/// Whether memory that is registered from its first byte to its last is not mostly gaps.
bool is_dense(std::uint64_t span, std::uint64_t bytes) noexcept;

/// From the first to the last byte of a payload's range. False: it has too many runs to look at, or they lie
/// too far apart.
bool span_of(const stria_services_t& services, const Payload& memory, Span& span) noexcept;

}  // namespace stria::transport
