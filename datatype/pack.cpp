#include "datatype/pack.hpp"

#include "datatype/kernels.hpp"
#include "datatype/walk.hpp"

namespace stria::datatype {
namespace {

/// Moves every run between memory and a place in the stream that advances.
template <bool kPack>
class Mover {
 public:
  explicit Mover(std::byte* stream) noexcept : stream_(stream) {}

  bool run(Address memory, std::int64_t bytes) noexcept {
    const AnyBlock block{static_cast<std::size_t>(bytes)};
    copy_block<kPack>(block, memory, stream_);
    stream_ += bytes;
    return true;
  }
  bool strided(Address memory, std::int64_t count, std::int64_t stride, std::int64_t bytes) noexcept {
    copy_strided<kPack>(memory, count, stride, bytes, stream_);
    stream_ += count * bytes;
    return true;
  }
  bool indexed(Address memory, const std::int64_t* displacements, std::int64_t count,
               std::int64_t bytes) noexcept {
    copy_indexed<kPack>(memory, displacements, count, bytes, stream_);
    stream_ += count * bytes;
    return true;
  }
  bool blocks(Address memory, const std::int64_t* displacements, const std::int64_t* starts,
              std::int64_t count) noexcept {
    copy_blocks<kPack>(memory, displacements, starts, count, stream_);
    stream_ += starts[count] - starts[0];
    return true;
  }

 private:
  std::byte* stream_;
};

}  // namespace

void pack(const Layout& layout, const void* base, std::int64_t count, std::int64_t offset,
          std::int64_t length, void* out) noexcept {
  Mover<true> mover(static_cast<std::byte*>(out));
  walk(layout, base, count, offset, length, mover);
}

void unpack(const Layout& layout, void* base, std::int64_t count, std::int64_t offset, std::int64_t length,
            const void* in) noexcept {
  // The stream is only read; Mover<false> has one pointer type for both directions.
  Mover<false> mover(const_cast<std::byte*>(static_cast<const std::byte*>(in)));
  walk(layout, base, count, offset, length, mover);
}

}  // namespace stria::datatype
