// Mover: the sink of a walk (walk.hpp) that copies each run or list, by the kernels, between memory and a
// packed stream.
#pragma once

#include <utility>

#include "datatype/kernels/kernels.hpp"

namespace stria::datatype {

/// Copies what the walk finds in memory to the packed stream (packing) or from it (unpacking). The place in
/// the stream advances by what was copied.
template <Direction kDirection>
class Mover {
 public:
  Mover(const Kernels& k, Address stream) noexcept : kernels_(k), stream_(stream) {}

  bool run(Address memory, std::int64_t bytes) noexcept {
    if constexpr (kDirection == kPacking)
      copy_run(kernels_, stream_, memory, bytes);
    else
      copy_run(kernels_, memory, stream_, bytes);
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
  /// Six parameters: those of a sink (walk.hpp).
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
  template <class Int>
  bool listed_records(Address memory, const Int* displacements, std::int64_t count,
                      const Record& record) noexcept {
    copy_listed_records(kernels_, kDirection, record, memory, displacements, count, stream_);
    return advance(count * record.bytes);
  }
  template <class Int>
  bool indexed(Address memory, const Int* displacements, std::int64_t count, std::int64_t bytes) noexcept {
    kernels_.lists<Int>().indexed[kDirection][kernel::width_of(bytes)](memory, displacements, count, stream_,
                                                                       bytes, bytes);
    return advance(count * bytes);
  }
  template <class Int>
  bool blocks(Address memory, const Int* displacements, const Int* starts, std::int64_t count,
              std::int64_t most) noexcept {
    kernels_.lists<Int>().blocks[kDirection](memory, displacements, starts, count, most, stream_);
    return advance(starts[count] - starts[0]);
  }

 protected:
  Address stream() const noexcept { return stream_; }
  bool advance(std::int64_t bytes) noexcept {
    stream_ = moved(stream_, bytes);
    return true;
  }

 private:
  const Kernels& kernels_;
  Address stream_;
};

}  // namespace stria::datatype
