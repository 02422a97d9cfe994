// Copies bytes between memory that a layout describes and a packed stream, or between the memory of two
// layouts.
//
// Described memory is given as a Range (range.hpp) of its packed stream. All functions accept any range, seek
// in O(depth + log n), and never allocate. The copied bytes do not depend on how a stream is cut into ranges,
// nor on the order of the calls for them.
//
// Preconditions: count >= 0; 0 <= offset; 0 <= length; offset + length <= count * size() (the walk
// asserts these in debug builds); Layout::reach(count) has a value. Source and destination of one call do not
// overlap. Threads: disjoint destinations may be written concurrently; layouts are only read.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "datatype/range.hpp"

namespace stria::datatype {

/// Copies the range to `out`, which has room for its length.
void pack(const Range& memory, void* out) noexcept;

/// Copies `in` to the range. Where a layout overlaps itself (an error in MPI for receives), the later byte in
/// typemap order wins within a call.
void unpack(const Range& memory, const void* in) noexcept;

/// Copies `src` to `dst`, two ranges of the same length, directly or through a buffer on the stack.
void transfer(const Range& src, const Range& dst) noexcept;

/// Copies n bytes between memory that does not overlap. copy_bytes() uses memcpy only for short copies:
/// kernels/block.hpp, copy_run, says where memcpy is slow. copy_long() is for n > 64.
void copy_long(void* to, const void* from, std::size_t n) noexcept;
inline void copy_bytes(void* to, const void* from, std::size_t n) noexcept {
  constexpr std::size_t kShort = 2048;
  if (n <= kShort)
    std::memcpy(to, from, n);
  else
    copy_long(to, from, n);
}

/// pack(), unpack() and transfer() by a given table of kernels (kernels/kernels.hpp), which this processor
/// must be able to run; tests pass other tables than the best one. transfer_by() returns how many of the
/// bytes went through a buffer.
struct Kernels;
void pack_by(const Kernels& k, const Range& memory, void* out) noexcept;
void unpack_by(const Kernels& k, const Range& memory, const void* in) noexcept;
std::int64_t transfer_by(const Kernels& k, const Range& src, const Range& dst) noexcept;
/// Whether a destination of `count` instances is to be written past the cache: it is larger than the cache
/// should hold, and its runs have at least a cache line on average.
bool outgrows_cache(const Kernels& k, const Layout& layout, std::int64_t count) noexcept;
/// Copies `in` to the range past the cache; for destinations for which outgrows_cache() holds, length > 0.
/// The caller ends with kernel::nontemporal_fence().
void unpack_past(const Kernels& k, const Range& memory, const void* in) noexcept;

/// Lists the runs of a range in stream order in at most `max` entries of `out`; runs that touch share an
/// entry. Returns the number of entries written and sets `*covered` to their bytes: the next call goes on at
/// offset + *covered. One call visits at most 2^16 runs, so the list may end early where very many runs
/// touch. The entries point into the memory of the range, which is not read or written.
std::size_t iovecs(const Range& memory, struct iovec* out, std::size_t max, std::int64_t* covered) noexcept;

}  // namespace stria::datatype
