// Transfer: copies from layout to layout. The ways to copy, in the order in which they are tried:
//
//   permuted    both sides are arrays of small records of as many bytes: permute vectors of records
//   rows        both sides are rows of blocks, or columns of blocks, in step: two nested loops, in squares
//               where one side is the other transposed. Where the conditions of "past" or "long runs" hold,
//               only transposed sides are copied by rows
//   past        runs are shorter than kLongPast and the destination outgrows the cache: pack into a buffer in
//               the first-level cache, and unpack from the buffer past the cache
//   in step     both sides repeat runs, records or lists, and their trees can be walked down together
//               (in_step.hpp)
//   long runs   one side has long runs, or is a single run: walk its runs, and pack or unpack the other side
//               straight into or out of each
//   bounce      otherwise: pack into a buffer in the first-level cache, and unpack from it as unpack() does
#include <algorithm>
#include <optional>

#include "base/assert.hpp"
#include "datatype/in_step.hpp"
#include "datatype/kernels/kernels.hpp"
#include "datatype/kernels/nontemporal.hpp"
#include "datatype/pack.hpp"
#include "datatype/walk.hpp"

namespace stria::datatype {
namespace {

/// Mean length in bytes from which runs are long: seeking on the other side for each run costs about as much
/// as copying so many bytes.
constexpr std::int64_t kLongRun = 512;
/// Mean length in bytes from which runs are not copied in step, without a list on either side and with one.
/// With a list the limit is higher, because a seek in a long list is expensive. Longer runs are better copied
/// past the cache where the destination outgrows it; copying in step writes nothing past the cache.
constexpr std::int64_t kLongInStep = 2048, kLongListed = 4096;
/// Mean length in bytes below which runs go through the buffer on their way past the cache. Loads of a few
/// lines and stores past the cache hinder each other where they alternate; out of the buffer, hundreds of
/// such stores follow each other.
constexpr std::int64_t kLongPast = 2048;

/// Mean length in bytes of the runs of a side; INT64_MAX when the side is a single run.
std::int64_t mean_run(const Side& side) noexcept {
  if (side.layout().is_contiguous(side.rest.count)) return INT64_MAX;
  return side.layout().facts().mean_run;
}

/// Takes the next `length` bytes off the side's rest.
Range next(Side& side, std::int64_t length) noexcept {
  Range part = side.rest;
  part.length = length;
  side.rest.offset += length;
  side.rest.length -= length;
  return part;
}

/// A sink of the walk over the destination: fills each run with the next bytes of the source.
struct FillFrom : RunSink<FillFrom> {
  explicit FillFrom(Side& s) noexcept : source(s) {}
  bool run(Address memory, std::int64_t bytes) noexcept {
    pack_by(source.kernels, next(source, bytes), at(memory));
    return true;
  }
  Side& source;
};
/// A sink of the walk over the source: unpacks each run into the next bytes of the destination.
struct DrainTo : RunSink<DrainTo> {
  explicit DrainTo(Side& s) noexcept : sink(s) {}
  bool run(Address memory, std::int64_t bytes) noexcept {
    unpack_by(sink.kernels, next(sink, bytes), at(memory));
    return true;
  }
  Side& sink;
};

/// Copies through a buffer; `past`: out of the buffer past the cache. Returns the number of bytes copied.
std::int64_t bounce(Side& from, Side& to, bool past) noexcept {
  alignas(64) std::byte buffer[kBounce];
  const std::int64_t length = from.rest.length;
  while (from.rest.length > 0) {
    const std::int64_t part = std::min(from.rest.length, kBounce);
    pack_by(from.kernels, next(from, part), buffer);
    if (past)
      unpack_past(to.kernels, next(to, part), buffer);
    else
      unpack_by(to.kernels, next(to, part), buffer);
  }
  if (past) kernel::nontemporal_fence();
  return length;
}

/// A side as rows of blocks, which two nested loops can copy.
struct Rows {
  std::int64_t stride = 0;        ///< from row to row
  std::int64_t inner = 0;         ///< blocks of a row; 0: the side is one run, which can be cut into any rows
  std::int64_t inner_stride = 0;  ///< from block to block of a row
  std::int64_t bytes = 0;         ///< of a block
  const Node* row = nullptr;      ///< a row; null: the side is one run
};
std::optional<Rows> rows_of(const Side& side) noexcept {
  if (side.layout().is_contiguous(side.rest.count)) return Rows{};
  const Repeat repeat = repeat_of(side.layout(), side.rest.count);
  if (const Block* block = repeat.child->block())
    return Rows{repeat.stride, 1, block->bytes, block->bytes, repeat.child};
  const Strided* inner = repeat.child->strided();
  const Block* block = inner != nullptr ? inner->child->block() : nullptr;
  if (block == nullptr) return std::nullopt;
  return Rows{repeat.stride, inner->count, inner->stride, block->bytes, repeat.child};
}

/// Cuts `rows`, whose rows are single runs, into the blocks of `other`. Rows of several blocks stay. False
/// when the two sides then differ in the blocks of a row or their length.
bool cut_like(Rows& rows, const Rows& other) noexcept {
  const std::int64_t row = other.inner * other.bytes;
  if (rows.inner == 0) rows.stride = row;
  if (rows.inner > 1 || (rows.inner == 1 && rows.bytes != row))
    return rows.inner == other.inner && rows.bytes == other.bytes;
  rows.inner = other.inner;
  rows.inner_stride = rows.bytes = other.bytes;
  rows.row = other.row;
  return true;
}

/// Copies where both sides are rows of blocks in step, and both offsets and the length are whole rows. False,
/// and nothing is copied, where they are not. `only_turned`: copies only where one side is the other
/// transposed; rows of long runs are as well copied by a walk over the runs, which works for every offset.
bool try_rows(const Side& src, const Side& dst, bool only_turned) noexcept {
  std::optional<Rows> from = rows_of(src), to = rows_of(dst);
  if (!from || !to || std::max(from->inner, to->inner) < 2) return false;
  if (!(from->inner > 1 ? cut_like(*to, *from) : cut_like(*from, *to))) return false;
  const Node& row = *from->row;  // the rows of both sides have as many bytes
  const std::int64_t length = src.rest.length;
  if (!is_whole(src.rest.offset, row) || !is_whole(dst.rest.offset, row) || !is_whole(length, row))
    return false;
  const auto place = [&](const Side& side, const Rows& rows) {
    return moved(address_of(side.rest.base),
                 side.layout().origin() + elements_in(side.rest.offset, row) * rows.stride);
  };
  const kernel::Nest nest{place(src, *from),        from->stride, from->inner_stride,
                          place(dst, *to),          to->stride,   to->inner_stride,
                          elements_in(length, row), from->inner,  from->bytes};
  const kernel::Order order = kernel::order_of(nest);
  if (only_turned && order != kernel::Order::tiles && order != kernel::Order::swapped_tiles) return false;
  src.kernels.nest[kernel::width_of(nest.bytes)](nest);
  return true;
}

}  // namespace

std::int64_t transfer_by(const Kernels& k, const Range& src, const Range& dst) noexcept {
  STRIA_ASSERT(src.length == dst.length, "a transfer is between ranges of one length");
  if (src.length == 0) return 0;
  Side from{k, src};
  Side to{k, dst};
  if (try_permuted(from, to)) return 0;
  const std::int64_t from_run = mean_run(from);
  const std::int64_t to_run = mean_run(to);
  const std::int64_t run = std::max(from_run, to_run);
  const bool long_runs = run >= kLongRun;
  const bool past = run < kLongPast && outgrows_cache(k, *dst.layout, dst.count);
  if (try_rows(from, to, long_runs || past)) return 0;
  if (past) return bounce(from, to, true);
  std::int64_t bounced = 0;
  const bool lists = has_list(from) || has_list(to);
  if (run < (lists ? kLongListed : kLongInStep) && try_in_step(from, to, &bounced)) return bounced;
  if (long_runs) {
    if (from_run >= to_run) {
      DrainTo drain(to);
      walk(src, drain);
    } else {
      FillFrom fill(from);
      walk(dst, fill);
    }
    return 0;
  }
  return bounce(from, to, false);
}

void transfer(const Range& src, const Range& dst) noexcept {
  transfer_by(kernels(), src, dst);
}

}  // namespace stria::datatype
