// Layout to layout where lists are on a side, block by block, without a packed copy. Two ways:
//
//   equal blocks   each side is a list or a row of blocks, all of one size: places are paired one by one,
//                  wherever the two begin
//   in step        the two trees have elements of one size, and begin at the same place in an element. They
//                  are walked down together as long as they are built alike: lists whose blocks have the same
//                  lengths are copied by one loop; what differs goes through a buffer, piece by piece.
//
// The usual case is both: a sender and a receiver with the same type. Whether lists have the same lengths is
// looked at part by part, just before the part is copied: the two are of two processes, a comparison that is
// remembered would have to be kept with the pair, and this one reads what the copy reads anyway.
#pragma once

#include <cstdint>

#include "datatype/kernels/kernels.hpp"
#include "datatype/layout.hpp"

namespace stria::datatype {

/// Bytes of a packed copy that is on its way: a quarter of the smallest first-level data cache in use.
inline constexpr std::int64_t kBounce = 8192;

/// One side of a transfer: where its stream is read or written next.
struct Side {
  const Kernels& kernels;
  const Layout& layout;
  const void* base;
  std::int64_t count;
  std::int64_t offset;
};

/// Copies `length` > 0 bytes from side to side where both are equal blocks and their offsets lie at the same
/// byte of one; false, and nothing copied, where they are not. In order.
bool try_equal_blocks(const Side& src, const Side& dst, std::int64_t length) noexcept;

/// Copies `length` > 0 bytes from side to side where the two are in step and a list is somewhere in both;
/// false, and nothing copied, where they are not. In order.
bool try_in_step(const Side& src, const Side& dst, std::int64_t length) noexcept;

/// A side is a list, or rows of lists. (Composites are lists.)
bool has_list(const Side& side) noexcept;

}  // namespace stria::datatype
