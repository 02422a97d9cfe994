// Moving bytes between described memory and the packed stream, or between two descriptions.
//
// Described memory comes as a Range (range.hpp) of its packed stream. All functions take any range of a
// stream, seek in O(depth + log n), never allocate, and give the same bytes however a stream is cut into
// ranges and in whichever order the ranges come.
//
// Preconditions (asserted in debug builds): count >= 0; 0 <= offset; 0 <= length; offset + length <= count *
// size(); Layout::reach(count) has a value. Memory of one call does not overlap between source and
// destination. Threads: disjoint destinations may be written concurrently; layouts are only read.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "datatype/range.hpp"

namespace stria::datatype {

/// Copies the range of the memory to `out`.
void pack(const Range& memory, void* out) noexcept;

/// Copies `in` to the range of the memory. Where a layout overlaps itself (an error in MPI for receives) the
/// later byte in typemap order wins within a call.
void unpack(const Range& memory, const void* in) noexcept;

/// Copies the source to the destination, ranges of the same length, at most through a buffer on the stack.
void transfer(const Range& src, const Range& dst) noexcept;

/// Copies n bytes that do not overlap. Not memcpy where that may be slow (kernels/block.hpp, copy_run).
void copy_long(void* to, const void* from, std::size_t n) noexcept;
inline void copy_bytes(void* to, const void* from, std::size_t n) noexcept {
  constexpr std::size_t kShort = 2048;
  if (n <= kShort)
    std::memcpy(to, from, n);
  else
    copy_long(to, from, n);
}

/// pack(), unpack() and transfer() by a given table of kernels, which this processor must be able to run
/// (kernels/kernels.hpp); for tests. A transfer says how many of the bytes went through a buffer.
struct Kernels;
void pack_by(const Kernels& k, const Range& memory, void* out) noexcept;
void unpack_by(const Kernels& k, const Range& memory, const void* in) noexcept;
std::int64_t transfer_by(const Kernels& k, const Range& src, const Range& dst) noexcept;
/// Whether so many instances outgrow the cache, and have whole lines that can be written past it.
bool outgrows_cache(const Kernels& k, const Layout& layout, std::int64_t count) noexcept;
/// unpack_by() into such instances, length > 0. The caller ends with kernel::stream_end().
void unpack_past(const Kernels& k, const Range& memory, const void* in) noexcept;

/// Lists the runs of a range in order, neighbours merged, as far as `max` entries go. Returns the entries
/// written; `*covered` is the stream bytes they hold: go on at offset + *covered. At most 2^16 runs are
/// looked at, so where very many merge the list may end early; it holds at least one. The runs are where the
/// memory is; nothing is read or written there.
std::size_t iovecs(const Range& memory, struct iovec* out, std::size_t max, std::int64_t* covered) noexcept;

}  // namespace stria::datatype
