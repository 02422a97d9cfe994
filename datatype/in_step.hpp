// Layout to layout where both sides repeat, without a packed copy: the two trees are walked down together.
// On the way, a level of either side is a sequence of equal children (sequence.hpp):
//
//   flat       runs or records on both sides: the pieces in which both are one run, one loop each (flat.hpp)
//   one size   children of one size, at the same byte of one: child by child, down to flat ones, to lists
//              whose blocks have the same lengths, which one loop copies, or to a run on one side
//   unlike     children of one side as large as several of the other: the larger one is opened
//
// What two lists of unlike lengths hold goes through a buffer, part by part, and so does the rest of two
// composites from where they differ. The usual case is neither: a sender and a receiver with the same type.
// Whether lists have the same lengths is looked at part by part, just before the part is copied: the two are
// of two processes, a comparison that is remembered would have to be kept with the pair, and this one reads
// what the copy reads anyway.
#pragma once

#include <cstdint>

#include "datatype/kernels/kernels.hpp"
#include "datatype/range.hpp"

namespace stria::datatype {

/// Bytes of a packed copy that is on its way: a quarter of the smallest first-level data cache in use.
inline constexpr std::int64_t kBounce = 8192;

/// One side of a transfer: the range that is still to be read or written, by these kernels.
struct Side {
  const Kernels& kernels;
  Range rest;

  const Layout& layout() const noexcept { return *rest.layout; }
};

/// Copies from side to side, ranges of one length > 0, where the two are in step; false, and nothing copied,
/// where they are not. In order. `*bounced` grows by the bytes that went through a buffer.
bool try_in_step(const Side& src, const Side& dst, std::int64_t* bounced) noexcept;

/// Copies from side to side where both are records that vectors permute, which beats everything else; false,
/// and nothing copied, where they are not.
bool try_permuted(const Side& src, const Side& dst) noexcept;

/// A side is a list, or rows of lists. (Composites are lists.)
bool has_list(const Side& side) noexcept;

}  // namespace stria::datatype
