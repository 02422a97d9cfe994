#include "datatype/pack.hpp"

#include <atomic>

#include "datatype/kernels/kernels.hpp"
#include "datatype/kernels/nontemporal.hpp"
#include "datatype/mover.hpp"
#include "datatype/walk.hpp"

namespace stria::datatype {
namespace {

/// A Mover for a destination that outgrows the cache: it writes blocks of whole cache lines and, unpacking,
/// long runs past the cache, and all else as Mover does. (Collecting small blocks in a buffer, and writing
/// the buffer past the cache, gained nothing.)
template <Direction kDirection>
class NontemporalMover : public Mover<kDirection> {
  using Base = Mover<kDirection>;
  static constexpr bool kPacks = kDirection == kPacking;

 public:
  using Base::Base;

  bool run(Address memory, std::int64_t bytes) noexcept {
    if (kPacks || bytes < kernel::kNontemporalRun) return Base::run(memory, bytes);
    kernel::nontemporal_run(memory, this->stream(), bytes);
    return this->advance(bytes);
  }
  bool strided(Address memory, std::int64_t count, std::int64_t stride, std::int64_t bytes) noexcept {
    const Address to = kPacks ? this->stream() : memory, from = kPacks ? memory : this->stream();
    const std::int64_t to_stride = kPacks ? bytes : stride, from_stride = kPacks ? stride : bytes;
    const bool gains = !kPacks || bytes <= kernel::kNontemporalBlock;
    if (gains && kernel::whole_lines(to, to_stride, bytes)) {
      kernel::nontemporal_strided(from, from_stride, to, to_stride, count, bytes);
      return this->advance(count * bytes);
    }
    if (kPacks || bytes < kernel::kNontemporalRun) return Base::strided(memory, count, stride, bytes);
    for (; count > 0; --count, memory = moved(memory, stride)) run(memory, bytes);
    return true;
  }
  /// Six parameters: those of a sink (walk.hpp).
  bool nest(Address memory, std::int64_t count, std::int64_t stride, std::int64_t inner,
            std::int64_t inner_stride, std::int64_t bytes) noexcept {
    if (bytes < kernel::kNontemporalLine)
      return Base::nest(memory, count, stride, inner, inner_stride, bytes);
    for (; count > 0; --count, memory = moved(memory, stride)) strided(memory, inner, inner_stride, bytes);
    return true;
  }
};

/// Whether to write a destination of `bytes` bytes past the cache: it is large, and the runs of the layout
/// have at least a cache line on average.
bool goes_past_cache(const Kernels& k, const Layout& layout, std::int64_t bytes) noexcept {
  return bytes >= k.nontemporal_from && layout.facts().mean_run >= kernel::kNontemporalLine;
}

/// Copies a range of whole blocks of a layout that is a Line (layout.hpp), by one loop. False, and nothing is
/// copied, when the range or the layout is something else.
template <Direction kDirection>
bool try_line(const Kernels& k, const Range& range, const void* stream) noexcept {
  const Line& line = range.layout->line();
  const std::int64_t offset = range.offset, length = range.length;
  if (line.bytes_log2 < 0 || (range.count != 1 && !line.joins) ||
      ((offset | length) & (line.bytes - 1)) != 0 || length == 0)
    return false;
  const Address memory =
      moved(address_of(range.base), range.layout->origin() + (offset >> line.bytes_log2) * line.stride);
  const Kernels::Strided copy = k.strided[kernel::width_of(line.bytes)];
  if constexpr (kDirection == kPacking)
    copy(memory, line.stride, address_of(stream), line.bytes, length >> line.bytes_log2, line.bytes);
  else
    copy(address_of(stream), line.bytes, memory, line.stride, length >> line.bytes_log2, line.bytes);
  return true;
}

}  // namespace

bool outgrows_cache(const Kernels& k, const Layout& layout, std::int64_t count) noexcept {
  return goes_past_cache(k, layout, layout.size() * count);
}

void unpack_past(const Kernels& k, const Range& memory, const void* in) noexcept {
  NontemporalMover<kUnpacking> nontemporal(k, address_of(in));
  walk(memory, nontemporal);
}

void pack_by(const Kernels& k, const Range& memory, void* out) noexcept {
  if (goes_past_cache(k, *memory.layout, memory.length)) {
    NontemporalMover<kPacking> nontemporal(k, address_of(out));
    walk(memory, nontemporal);
    return kernel::nontemporal_fence();
  }
  if (try_line<kPacking>(k, memory, out)) return;
  Mover<kPacking> mover(k, address_of(out));
  walk(memory, mover);
}

void unpack_by(const Kernels& k, const Range& memory, const void* in) noexcept {
  // The size of the whole destination decides, not that of the fragment that this call fills.
  if (outgrows_cache(k, *memory.layout, memory.count) && memory.length > 0) {
    unpack_past(k, memory, in);
    return kernel::nontemporal_fence();
  }
  if (try_line<kUnpacking>(k, memory, in)) return;
  Mover<kUnpacking> mover(k, address_of(in));
  walk(memory, mover);
}

namespace {

void copy_first(Address to, Address from, std::int64_t n) noexcept;
/// The run function of the best table once copy_first() has run: so copy_long() needs no more than a jump.
constinit std::atomic<Kernels::Run> copy_now{&copy_first};

/// The first call of copy_long(): chooses the best table, then copies.
[[gnu::cold]] void copy_first(Address to, Address from, std::int64_t n) noexcept {
  copy_now.store(kernels().run, std::memory_order_relaxed);
  kernels().run(to, from, n);
}

}  // namespace

void copy_long(void* to, const void* from, std::size_t n) noexcept {
  copy_now.load(std::memory_order_relaxed)(address_of(to), address_of(from), static_cast<std::int64_t>(n));
}

void pack(const Range& memory, void* out) noexcept {
  pack_by(kernels(), memory, out);
}

void unpack(const Range& memory, const void* in) noexcept {
  unpack_by(kernels(), memory, in);
}

}  // namespace stria::datatype
