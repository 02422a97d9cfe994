// Copies from one layout to another without a packed copy in between, where both layouts repeat: the trees of
// source and destination are walked down together, in step. At each level, either side is a sequence of equal
// children (sequence.hpp). Three pairs of sequences are in step:
//
//   flat       both sides hold runs or records: one loop copies each piece that is one run on both sides
//              (flat.hpp)
//   one size   the children of both sides have one size, and both sides stand at the same byte of a child:
//              the walk goes child by child, down to flat sequences, to two lists whose blocks have the same
//              lengths (one loop copies them), or to a level that is a single run on one side
//   unlike     a child of one side is as large as several children of the other: the larger child is opened
//
// Two lists with different block lengths are copied part by part through a bounce buffer, and so is the rest
// of two composites from the child where they differ. A sender and a receiver that use the same type, the
// usual case, need no bounce buffer. The block lengths of two lists are compared part by part, just before
// each part is copied: the layouts belong to two processes, so a remembered result would have to be kept for
// each pair of layouts, and the comparison reads only what the copy reads anyway.
#pragma once

#include <cstdint>

#include "datatype/kernels/kernels.hpp"
#include "datatype/range.hpp"

namespace stria::datatype {

/// Size of the bounce buffer in bytes: a quarter of the smallest first-level data cache in use.
inline constexpr std::int64_t kBounce = 8192;

/// One side of a transfer: the range that is still to be read or written, and the kernels that do it.
struct Side {
  const Kernels& kernels;
  Range rest;

  const Layout& layout() const noexcept { return *rest.layout; }
};

/// Copies `src` to `dst` where the two sides are in step; otherwise returns false and copies nothing. Both
/// ranges have the same length, > 0. Where `dst` overlaps itself, the byte that is later in typemap order
/// wins. Adds the bytes that went through the bounce buffer to `*bounced`.
bool try_in_step(const Side& src, const Side& dst, std::int64_t* bounced) noexcept;

/// Copies `src` to `dst` where both sides are arrays of records (record.hpp) that vector registers permute,
/// the fastest way where it applies; otherwise returns false and copies nothing.
bool try_permuted(const Side& src, const Side& dst) noexcept;

/// Whether the layout of the side is a list (Indexed, Blocks or Composite), or strided copies of one.
bool has_list(const Side& side) noexcept;

}  // namespace stria::datatype
