#include "datatype/pack.hpp"

#include "datatype/kernels/kernels.hpp"
#include "datatype/walk.hpp"

namespace stria::datatype {
namespace {

/// Moves every run between memory and a place in the stream that advances.
template <Direction kDirection>
class Mover {
 public:
  Mover(const Kernels& k, Address stream) noexcept : kernels_(k), stream_(stream) {}

  bool run(Address memory, std::int64_t bytes) noexcept {
    if constexpr (kDirection == kPacking)
      kernel::copy_one<16>(stream_, memory, bytes);
    else
      kernel::copy_one<16>(memory, stream_, bytes);
    return advance(bytes);
  }
  bool strided(Address memory, std::int64_t count, std::int64_t stride, std::int64_t bytes) noexcept {
    const Kernels::Strided copy = kernels_.strided[kernel::width_of(bytes)];
    if constexpr (kDirection == kPacking)
      copy(memory, stride, stream_, bytes, count, bytes);
    else
      copy(stream_, bytes, memory, stride, count, bytes);
    return advance(count * bytes);
  }
  bool nest(Address memory, std::int64_t count, std::int64_t stride, std::int64_t inner,
            std::int64_t inner_stride, std::int64_t bytes) noexcept {
    kernel::Nest n{memory, stride, inner_stride, stream_, inner * bytes, bytes, count, inner, bytes};
    if constexpr (kDirection == kUnpacking) {
      std::swap(n.from, n.to);
      std::swap(n.from_outer, n.to_outer);
      std::swap(n.from_inner, n.to_inner);
    }
    kernels_.nest[kernel::width_of(bytes)](n);
    return advance(count * inner * bytes);
  }
  bool records(Address memory, std::int64_t count, std::int64_t stride, const Record& record) noexcept {
    copy_records(kernels_, kDirection, record, memory, stride, count, stream_);
    return advance(count * record.bytes);
  }
  bool listed_records(Address memory, const std::int64_t* displacements, std::int64_t count,
                      const Record& record) noexcept {
    copy_listed_records(kernels_, kDirection, record, memory, displacements, count, stream_);
    return advance(count * record.bytes);
  }
  bool indexed(Address memory, const std::int64_t* displacements, std::int64_t count,
               std::int64_t bytes) noexcept {
    kernels_.indexed[kDirection][kernel::width_of(bytes)](memory, displacements, count, stream_, bytes,
                                                          bytes);
    return advance(count * bytes);
  }
  bool blocks(Address memory, const std::int64_t* displacements, const std::int64_t* starts,
              std::int64_t count) noexcept {
    kernels_.blocks[kDirection](memory, displacements, starts, count, stream_);
    return advance(starts[count] - starts[0]);
  }

 private:
  bool advance(std::int64_t bytes) noexcept {
    stream_ = moved(stream_, bytes);
    return true;
  }

  const Kernels& kernels_;
  Address stream_;
};

/// The loop for a range of whole blocks of a line; false when it is something else.
template <Direction kDirection>
bool try_line(const Kernels& k, const Layout& layout, const void* base, std::int64_t count,
              std::int64_t offset, std::int64_t length, const void* stream) noexcept {
  const Line& line = layout.line();
  if (line.bytes_log2 < 0 || (count != 1 && !line.joins) || ((offset | length) & (line.bytes - 1)) != 0 ||
      length == 0)
    return false;
  const Address memory = moved(address_of(base), layout.origin() + (offset >> line.bytes_log2) * line.stride);
  const Kernels::Strided copy = k.strided[kernel::width_of(line.bytes)];
  if constexpr (kDirection == kPacking)
    copy(memory, line.stride, address_of(stream), line.bytes, length >> line.bytes_log2, line.bytes);
  else
    copy(address_of(stream), line.bytes, memory, line.stride, length >> line.bytes_log2, line.bytes);
  return true;
}

}  // namespace

void pack_by(const Kernels& k, const Layout& layout, const void* base, std::int64_t count,
             std::int64_t offset, std::int64_t length, void* out) noexcept {
  if (try_line<kPacking>(k, layout, base, count, offset, length, out)) return;
  Mover<kPacking> mover(k, address_of(out));
  walk(layout, base, count, offset, length, mover);
}

void unpack_by(const Kernels& k, const Layout& layout, void* base, std::int64_t count, std::int64_t offset,
               std::int64_t length, const void* in) noexcept {
  if (try_line<kUnpacking>(k, layout, base, count, offset, length, in)) return;
  Mover<kUnpacking> mover(k, address_of(in));
  walk(layout, base, count, offset, length, mover);
}

void pack(const Layout& layout, const void* base, std::int64_t count, std::int64_t offset,
          std::int64_t length, void* out) noexcept {
  pack_by(kernels(), layout, base, count, offset, length, out);
}

void unpack(const Layout& layout, void* base, std::int64_t count, std::int64_t offset, std::int64_t length,
            const void* in) noexcept {
  unpack_by(kernels(), layout, base, count, offset, length, in);
}

}  // namespace stria::datatype
