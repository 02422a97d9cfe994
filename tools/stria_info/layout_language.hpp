// A small language for layouts on a command line. An expression is
//
//   double, int, ...                              a type of C, see kLayoutHelp
//   bytes(n)                                      n contiguous bytes
//   contiguous(n, child)                          n children, each one extent after the other
//   vector(count, blocklen, stride, child)        count blocks of blocklen children, stride bytes apart
//   indexed([b, ...], [d, ...], child)            block i is b[i] children at byte d[i]
//   indexed_block(b, [d, ...], child)             the same with blocks of one length
//   composite(d: child, d: n * child, ...)        different children at bytes d
//   subarray([size, ...], [n, ...], [start, ...], child)              n[i] from start[i] on of each dimension
//   darray(processes, rank, [size, ...], [how, ...], [grid, ...], child)   a rank's part of an array; how is
//                                                 block, block(n), cyclic, cyclic(n) or none
//   resized(child, lb, extent)                    the same memory with other bounds
//   dup(child)                                    the same
//
// So every constructor of MPI has a name here. hvector, hindexed, hindexed_block and struct are other names
// of those whose displacements are bytes. In arrays the last index is the fastest, as in C, unless
// ", fortran" ends them.
//
// A number is digits with an optional sign and K, M or G behind it, or a product: 2048*8. Blanks do not
// matter.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "datatype/layout.hpp"

namespace stria::info {

/// errors  invalid: what was expected at which character, or which value a constructor refused
Result<datatype::Layout> parse_layout(std::string_view text);

/// The language in a few lines, for --help.
extern const char* const kLayoutHelp;

}  // namespace stria::info
