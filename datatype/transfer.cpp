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
  if (side.layout.is_contiguous(side.count)) return INT64_MAX;
  return side.layout.size() / std::max<std::int64_t>(side.layout.block_count(), 1);
}

void pack_next(Side& side, std::int64_t length, std::byte* out) noexcept {
  pack_by(side.kernels, side.layout, side.base, side.count, side.offset, length, out);
  side.offset += length;
}
void unpack_next(Side& side, std::int64_t length, const std::byte* in) noexcept {
  unpack_by(side.kernels, side.layout, const_cast<void*>(side.base), side.count, side.offset, length, in);
  side.offset += length;
}

void stream_next(Side& side, std::int64_t length, const std::byte* in) noexcept {
  unpack_past(side.kernels, side.layout, const_cast<void*>(side.base), side.count, side.offset, length, in);
  side.offset += length;
}

/// Runs of the destination, filled from the source.
struct FillFrom : RunSink<FillFrom> {
  explicit FillFrom(Side& s) noexcept : source(s) {}
  bool run(Address memory, std::int64_t bytes) noexcept {
    pack_next(source, bytes, at(memory));
    return true;
  }
  Side& source;
};
/// Runs of the source, written to the destination.
struct DrainTo : RunSink<DrainTo> {
  explicit DrainTo(Side& s) noexcept : sink(s) {}
  bool run(Address memory, std::int64_t bytes) noexcept {
    unpack_next(sink, bytes, at(memory));
    return true;
  }
  Side& sink;
};

/// Through a buffer; `past`: and from there past the cache. Returns the bytes.
std::int64_t bounce(Side& from, Side& to, std::int64_t length, bool past) noexcept {
  alignas(64) std::byte buffer[kBounce];
  for (std::int64_t rest = length; rest > 0;) {
    const std::int64_t part = std::min(rest, kBounce);
    pack_next(from, part, buffer);
    if (past)
      stream_next(to, part, buffer);
    else
      unpack_next(to, part, buffer);
    rest -= part;
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
  if (side.layout.is_contiguous(side.count)) return Rows{};
  const Repeat repeat = repeat_of(side.layout, side.count);
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
bool try_rows(const Side& src, const Side& dst, std::int64_t length, bool long_runs) noexcept {
  std::optional<Rows> from = rows_of(src), to = rows_of(dst);
  if (!from || !to || std::max(from->inner, to->inner) < 2) return false;
  if (!(from->inner > 1 ? cut_like(*to, *from) : cut_like(*from, *to))) return false;
  const std::int64_t row = from->inner * from->bytes;
  if (src.offset % row != 0 || dst.offset % row != 0 || length % row != 0) return false;
  const auto place = [&](const Side& side, const Rows& rows) {
    return moved(address_of(side.base), side.layout.origin() + side.offset / row * rows.stride);
  };
  const kernel::Nest nest{place(src, *from), from->stride, from->inner_stride, place(dst, *to), to->stride,
                          to->inner_stride,  length / row, from->inner,        from->bytes};
  const kernel::Order order = kernel::order_of(nest);
  if (long_runs && order != kernel::Order::tiles && order != kernel::Order::swapped_tiles) return false;
  src.kernels.nest[kernel::width_of(nest.bytes)](nest);
  return true;
}

}  // namespace

std::int64_t transfer_range_by(const Kernels& k, const Layout& src, const void* src_base,
                               std::int64_t src_count, std::int64_t src_offset, const Layout& dst,
                               void* dst_base, std::int64_t dst_count, std::int64_t dst_offset,
                               std::int64_t length) noexcept {
  if (length == 0) return 0;
  Side from{k, src, src_base, src_count, src_offset};
  Side to{k, dst, dst_base, dst_count, dst_offset};
  if (try_permuted(from, to, length)) return 0;
  const std::int64_t from_run = mean_run(from);
  const std::int64_t to_run = mean_run(to);
  const std::int64_t run = std::max(from_run, to_run);
  const bool long_runs = run >= kLongRun;
  const bool past = run < kLongPast && outgrows_cache(k, dst, dst_count);
  if (try_rows(from, to, length, long_runs || past)) return 0;
  if (past) return bounce(from, to, length, true);
  std::int64_t bounced = 0;
  const bool lists = has_list(from) || has_list(to);
  if (run < (lists ? kLongListed : kLongInStep) && try_in_step(from, to, length, &bounced)) return bounced;
  if (long_runs) {
    if (from_run >= to_run) {
      DrainTo drain(to);
      walk(src, src_base, src_count, src_offset, length, drain);
    } else {
      FillFrom fill(from);
      walk(dst, dst_base, dst_count, dst_offset, length, fill);
    }
    return 0;
  }
  return bounce(from, to, length, false);
}

void transfer_range(const Layout& src, const void* src_base, std::int64_t src_count, std::int64_t src_offset,
                    const Layout& dst, void* dst_base, std::int64_t dst_count, std::int64_t dst_offset,
                    std::int64_t length) noexcept {
  transfer_range_by(kernels(), src, src_base, src_count, src_offset, dst, dst_base, dst_count, dst_offset,
                    length);
}

void transfer(const Layout& src, const void* src_base, std::int64_t src_count, const Layout& dst,
              void* dst_base, std::int64_t dst_count, std::int64_t length) noexcept {
  transfer_range(src, src_base, src_count, 0, dst, dst_base, dst_count, 0, length);
}

}  // namespace stria::datatype
