// The tables of innermost copies, one for each kind of processor, and the choice between them, made once at
// run time.
//
// A table's rows are loops over blocks of one class of sizes (block.hpp). The bodies are templates that are
// forced inline (strided.hpp, nest.hpp, lists.hpp); each of portable.cpp, avx2.cpp and avx512.cpp compiles
// them for its processor by functions with a target attribute, so the rest of the library stays runnable
// everywhere.
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

/// Of lists of offsets of one width.
template <class Int>
struct ListKernels {
  /// Blocks at memory + places[i], to or from stream + i * stream_stride.
  using Indexed = void (*)(Address memory, const Int* places, std::int64_t count, Address stream,
                           std::int64_t stream_stride, std::int64_t bytes) noexcept;
  /// Blocks of starts[i+1] - starts[i] bytes, few of them above `most` (stretches.hpp), at memory +
  /// places[i], to or from a stream without gaps.
  using Blocks = void (*)(Address memory, const Int* places, const Int* starts, std::int64_t count,
                          std::int64_t most, Address stream) noexcept;
  /// The same from list to list.
  using IndexedAcross = void (*)(const kernel::ListEnds<Int>& ends, std::int64_t count,
                                 std::int64_t bytes) noexcept;
  using BlocksAcross = void (*)(const kernel::ListEnds<Int>& ends, const Int* starts, std::int64_t count,
                                std::int64_t most) noexcept;
  std::array<std::array<Indexed, kernel::kWidths>, 2> indexed{};
  std::array<Blocks, 2> blocks{};
  std::array<IndexedAcross, kernel::kWidths> indexed_across{};
  BlocksAcross blocks_across = nullptr;
};

/// All functions: no overlap between source and destination; counts > 0; blocks of `bytes` > 0. Blocks are
/// written in order unless said otherwise, so where destinations overlap the later block wins.
struct Kernels {
  /// `count` blocks, from and to equal distances.
  using Strided = void (*)(Address from, std::int64_t from_stride, Address to, std::int64_t to_stride,
                           std::int64_t count, std::int64_t bytes) noexcept;
  /// Two loops of them; in any order where the blocks of the destination do not overlap.
  using Nest = void (*)(const kernel::Nest& nest) noexcept;
  /// Records by vectors, the last one as far as it is used. `memory` is a record's first byte in typemap
  /// order. In any order.
  using Permute = void (*)(const Permutation& permutation, Address memory, std::int64_t stride,
                           std::int64_t count, Address stream) noexcept;
  /// Records to records of as many bytes, without the stream between.
  using PermuteAcross = void (*)(const Permutation& source, Address from, std::int64_t from_stride,
                                 const Permutation& sink, Address to, std::int64_t to_stride,
                                 std::int64_t count) noexcept;

  /// n > 64 bytes.
  using Run = void (*)(Address to, Address from, std::int64_t n) noexcept;

  const char* name = nullptr;
  /// Destinations of so many bytes are written past the cache (stream.hpp): a quarter of the last-level
  /// cache, at most this.
  std::int64_t stream_from = std::int64_t{8} << 20;
  Run run = nullptr;
  std::array<Strided, kernel::kWidths> strided{};
  std::array<Nest, kernel::kWidths> nest{};
  ListKernels<std::int32_t> narrow;
  ListKernels<std::int64_t> wide;
  std::array<Permute, 2> permute{};  ///< null: the processor cannot permute bytes of a vector
  PermuteAcross permute_across = nullptr;

  template <class Int>
  const ListKernels<Int>& lists() const noexcept {
    if constexpr (std::is_same_v<Int, std::int32_t>)
      return narrow;
    else
      return wide;
  }
};

/// The best table for processor().vectors (base/processor.hpp): looked for, and, in the data path,
/// remembered.
const Kernels& best_kernels() noexcept;
inline const Kernels& kernels() noexcept {
  static const Kernels& best = best_kernels();
  return best;
}
/// Every table up to processor().vectors, the best one last; for tests and for people.
std::span<const Kernels* const> runnable_kernels() noexcept;

/// n > 0 bytes, of which the caller knows nothing.
[[gnu::always_inline]] inline void copy_run(const Kernels& k, Address to, Address from,
                                            std::int64_t n) noexcept {
  if (n > kernel::kInPlaceMost)
    k.run(to, from, n);
  else
    kernel::copy_one<16>(to, from, n);
}

/// `count` records, `stride` apart, to or from `stream`.
void copy_records(const Kernels& k, Direction direction, const Record& record, Address memory,
                  std::int64_t stride, std::int64_t count, Address stream) noexcept;
/// `count` records at memory + places[i].
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
