// Kernels: a table of innermost copy functions. There is one table for each kind of processor; the choice
// between the tables is made once, at run time.
//
// Most members of a table are arrays with one function for each class of block sizes (block.hpp). The bodies
// of the functions are templates that are forced inline (strided.hpp, nest.hpp, lists.hpp). Each of
// portable.cpp, avx2.cpp and avx512.cpp compiles the bodies for its processor, by functions with a target
// attribute, so the rest of the library runs on every processor.
//
// Some functions have more than five parameters. Addresses, strides and counts are passed one by one, because
// they then stay in registers, while GCC puts some structs of two through memory (docs/notebook/kernels.md).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "datatype/address.hpp"
#include "datatype/kernels/block.hpp"
#include "datatype/kernels/lists.hpp"
#include "datatype/kernels/nest.hpp"
#include "datatype/record.hpp"

namespace stria::datatype {

enum Direction : std::uint8_t { kPacking, kUnpacking };

/// The copy functions for lists whose offsets are of type Int. The first index of an array of two is a
/// Direction.
template <class Int>
struct ListKernels {
  /// Copies blocks of `bytes` bytes between memory + places[i] and stream + i * stream_stride.
  using Indexed = void (*)(Address memory, const Int* places, std::int64_t count, Address stream,
                           std::int64_t stream_stride, std::int64_t bytes) noexcept;
  /// Copies blocks of starts[i+1] - starts[i] bytes between memory + places[i] and a stream without gaps.
  /// `most` is a hint: mostly few of the blocks exceed it (Stretch::bytes).
  using Blocks = void (*)(Address memory, const Int* places, const Int* starts, std::int64_t count,
                          std::int64_t most, Address stream) noexcept;
  /// Copies blocks of `bytes` bytes from list to list.
  using IndexedAcross = void (*)(const kernel::ListEnds<Int>& ends, std::int64_t count,
                                 std::int64_t bytes) noexcept;
  /// Copies blocks of starts[i+1] - starts[i] bytes from list to list. `most` is a hint as for Blocks.
  using BlocksAcross = void (*)(const kernel::ListEnds<Int>& ends, const Int* starts, std::int64_t count,
                                std::int64_t most) noexcept;
  std::array<std::array<Indexed, kernel::kWidths>, 2> indexed{};
  std::array<Blocks, 2> blocks{};
  std::array<IndexedAcross, kernel::kWidths> indexed_across{};
  BlocksAcross blocks_across = nullptr;
};

/// For all functions: source and destination do not overlap, counts and block sizes are > 0. Blocks are
/// written in order unless the function's comment says otherwise, so where destinations of blocks overlap,
/// the later block wins.
struct Kernels {
  /// Copies `count` blocks of `bytes` bytes, which are equally far apart on each side.
  using Strided = void (*)(Address from, std::int64_t from_stride, Address to, std::int64_t to_stride,
                           std::int64_t count, std::int64_t bytes) noexcept;
  /// Copies the blocks of two nested loops; in any order where the blocks of the destination do not overlap.
  using Nest = void (*)(const kernel::Nest& nest) noexcept;
  /// Packs or unpacks `count` records by permuting vectors; of the last vector only the bytes of records are
  /// touched. `memory` is the first record's first byte in typemap order. Writes in any order.
  using Permute = void (*)(const Permutation& permutation, Address memory, std::int64_t stride,
                           std::int64_t count, Address stream) noexcept;
  /// Copies `count` records to records of as many bytes by permuting vectors, without a packed copy. Writes
  /// in any order.
  using PermuteAcross = void (*)(const Permutation& source, Address from, std::int64_t from_stride,
                                 const Permutation& sink, Address to, std::int64_t to_stride,
                                 std::int64_t count) noexcept;

  /// Copies one run of n > 64 bytes.
  using Run = void (*)(Address to, Address from, std::int64_t n) noexcept;

  const char* name = nullptr;
  /// Destinations of at least so many bytes are written past the cache (nontemporal.hpp). best_kernels() sets
  /// it to a quarter of the last-level cache, within bounds; this default is the upper bound.
  std::int64_t nontemporal_from = std::int64_t{8} << 20;
  Run run = nullptr;
  std::array<Strided, kernel::kWidths> strided{};
  std::array<Nest, kernel::kWidths> nest{};
  ListKernels<std::int32_t> narrow;
  ListKernels<std::int64_t> wide;
  std::array<Permute, 2> permute{};  ///< by Direction; null: the table has no permutation of a vector's bytes
  PermuteAcross permute_across = nullptr;

  template <class Int>
  const ListKernels<Int>& lists() const noexcept {
    if constexpr (std::is_same_v<Int, std::int32_t>)
      return narrow;
    else
      return wide;
  }
};

/// The best table for processor().vectors (base/processor.hpp), found by the first call. The data path uses
/// kernels(), which remembers it.
const Kernels& best_kernels() noexcept;
inline const Kernels& kernels() noexcept {
  static const Kernels& best = best_kernels();
  return best;
}
/// Every table that is allowed by processor().vectors, the best one last; for tests and for people.
std::span<const Kernels* const> runnable_kernels() noexcept;

/// Copies one run of any length n > 0: a short one in place, a longer one by Kernels::run.
[[gnu::always_inline]] inline void copy_run(const Kernels& k, Address to, Address from,
                                            std::int64_t n) noexcept {
  if (n > kernel::kInPlaceMost)
    k.run(to, from, n);
  else
    kernel::copy_one<16>(to, from, n);
}

/// Packs or unpacks `count` records, which lie `stride` apart from `memory` on. Seven parameters: see
/// the head of this file.
void copy_records(const Kernels& k, Direction direction, const Record& record, Address memory,
                  std::int64_t stride, std::int64_t count, Address stream) noexcept;
/// Packs or unpacks `count` records, of which record i lies at memory + places[i]. Seven parameters:
/// see the head of this file.
template <class Int>
void copy_listed_records(const Kernels& k, Direction direction, const Record& record, Address memory,
                         const Int* places, std::int64_t count, Address stream) noexcept;

namespace kernel {
extern const Kernels kPortable;
#if defined(__x86_64__)
extern const Kernels kAvx2, kAvx512;
#endif
}  // namespace kernel

}  // namespace stria::datatype
