// Layout to layout. Ways in the order they are tried, by the shapes of the two sides:
//
//   permuted    both are small records of as many bytes: vectors of them
//   rows        both are rows of blocks, or columns of them, in step: two loops, in squares where one side is
//               the other turned. Rows that are long runs, or of a destination as in the next way, only so
//   past        runs up to kLongPast, and a destination that outgrows the cache: through a buffer in the
//               first-level cache, and from there past the cache
//   in step     both repeat runs, records or lists, as trees that are walked down together (in_step.hpp)
//   long runs   on one side, or all of it one run: walk those, pack or unpack the other side straight into
//               them
//   bounce      else: through such a buffer into the cache, so that both halves use the packing kernels
#include <algorithm>
#include <optional>

#include "base/assert.hpp"
#include "datatype/in_step.hpp"
#include "datatype/kernels/kernels.hpp"
#include "datatype/kernels/stream.hpp"
#include "datatype/pack.hpp"
#include "datatype/walk.hpp"

namespace stria::datatype {
namespace {

constexpr std::int64_t kLongRun =
    512;  // bytes; a seek of the other side costs about as much as copying these
/// Runs that are not copied in step. A seek in a long list is dear, but runs beyond this are better copied
/// past the cache where the destination outgrows it, which only long runs are.
constexpr std::int64_t kLongInStep = 2048, kLongListed = 4096;
/// Runs of a destination that outgrows the cache. Where loads of a few lines and stores past the cache take
/// turns, they hinder each other; out of the buffer such stores come by the hundred.
constexpr std::int64_t kLongPast = 2048;

std::int64_t mean_run(const Side& side) noexcept {
  if (side.layout().is_contiguous(side.rest.count)) return INT64_MAX;
  return side.layout().size() / std::max<std::int64_t>(side.layout().block_count(), 1);
}

/// The next bytes of the side, which goes on behind them.
Range next(Side& side, std::int64_t length) noexcept {
  Range part = side.rest;
  part.length = length;
  side.rest.offset += length;
  side.rest.length -= length;
  return part;
}

/// Runs of the destination, filled from the source.
struct FillFrom : RunSink<FillFrom> {
  explicit FillFrom(Side& s) noexcept : source(s) {}
  bool run(Address memory, std::int64_t bytes) noexcept {
    pack_by(source.kernels, next(source, bytes), at(memory));
    return true;
  }
  Side& source;
};
/// Runs of the source, written to the destination.
struct DrainTo : RunSink<DrainTo> {
  explicit DrainTo(Side& s) noexcept : sink(s) {}
  bool run(Address memory, std::int64_t bytes) noexcept {
    unpack_by(sink.kernels, next(sink, bytes), at(memory));
    return true;
  }
  Side& sink;
};

/// Through a buffer; `past`: and from there past the cache. Returns the bytes.
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
  if (past) kernel::stream_end();
  return length;
}

/// A side as rows of `inner` blocks: what two loops can go through.
struct Rows {
  std::int64_t stride = 0;        ///< of rows
  std::int64_t inner = 0;         ///< blocks of a row; 0: one run without end, which fits any rows
  std::int64_t inner_stride = 0;  ///< of blocks in a row
  std::int64_t bytes = 0;         ///< of a block
};
std::optional<Rows> rows_of(const Side& side) noexcept {
  if (side.layout().is_contiguous(side.rest.count)) return Rows{};
  const Repeat repeat = repeat_of(side.layout(), side.rest.count);
  if (const Block* block = repeat.child->block()) return Rows{repeat.stride, 1, block->bytes, block->bytes};
  const Strided* inner = repeat.child->strided();
  const Block* block = inner != nullptr ? inner->child->block() : nullptr;
  if (block == nullptr) return std::nullopt;
  return Rows{repeat.stride, inner->count, inner->stride, block->bytes};
}

/// Cuts a side's rows into blocks as the other side has them; false when they are not in step.
bool cut_like(Rows& rows, const Rows& other) noexcept {
  const std::int64_t row = other.inner * other.bytes;
  if (rows.inner == 0) rows.stride = row;
  if (rows.inner > 1 || (rows.inner == 1 && rows.bytes != row))
    return rows.inner == other.inner && rows.bytes == other.bytes;
  rows.inner = other.inner;
  rows.inner_stride = rows.bytes = other.bytes;
  return true;
}

/// Both sides rows of blocks in step, offsets and length in whole rows. Where rows are long runs on one side
/// and nothing is turned, walking those runs is as good and works for every offset.
bool try_rows(const Side& src, const Side& dst, bool long_runs) noexcept {
  std::optional<Rows> from = rows_of(src), to = rows_of(dst);
  if (!from || !to || std::max(from->inner, to->inner) < 2) return false;
  if (!(from->inner > 1 ? cut_like(*to, *from) : cut_like(*from, *to))) return false;
  const std::int64_t row = from->inner * from->bytes;
  const std::int64_t length = src.rest.length;
  if (src.rest.offset % row != 0 || dst.rest.offset % row != 0 || length % row != 0) return false;
  const auto place = [&](const Side& side, const Rows& rows) {
    return moved(address_of(side.rest.base), side.layout().origin() + side.rest.offset / row * rows.stride);
  };
  const kernel::Nest nest{place(src, *from), from->stride, from->inner_stride, place(dst, *to), to->stride,
                          to->inner_stride,  length / row, from->inner,        from->bytes};
  const kernel::Order order = kernel::order_of(nest);
  if (long_runs && order != kernel::Order::tiles && order != kernel::Order::swapped_tiles) return false;
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
