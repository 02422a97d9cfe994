// MemoryRef names `count` instances of a layout at a base address; Cursor walks their packed stream in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "datatype/layout.hpp"
#include "datatype/pack.hpp"

namespace stria::datatype {

/// Non-owning: layout and memory belong to the caller and outlive this. `base` may be null with absolute
/// displacements (MPI_BOTTOM).
struct MemoryRef {
  const Layout* layout = nullptr;
  std::byte* base = nullptr;
  std::int64_t count = 0;

  std::int64_t bytes() const noexcept { return layout->size() * count; }
};

/// A place in the packed stream. Two words and the reference: keeping or copying one costs nothing, because
/// seeking is O(depth + log n) and every call seeks.
class Cursor {
 public:
  explicit Cursor(const MemoryRef& memory) noexcept : memory_(memory), bytes_(memory.bytes()) {}

  std::int64_t offset() const noexcept { return offset_; }
  std::int64_t remaining() const noexcept { return bytes_ - offset_; }
  /// 0 <= offset <= bytes of the stream.
  void seek(std::int64_t offset) noexcept { offset_ = offset; }

  /// Packs up to `max` bytes to `out`; returns how many (0 at the end) and moves on.
  std::int64_t pack_next(void* out, std::int64_t max) noexcept {
    const std::int64_t length = std::min(max, remaining());
    pack(*memory_.layout, memory_.base, memory_.count, offset_, length, out);
    offset_ += length;
    return length;
  }
  /// Unpacks up to `max` bytes from `in`; returns how many (0 at the end) and moves on.
  std::int64_t unpack_next(const void* in, std::int64_t max) noexcept {
    const std::int64_t length = std::min(max, remaining());
    unpack(*memory_.layout, memory_.base, memory_.count, offset_, length, in);
    offset_ += length;
    return length;
  }
  /// Lists up to `max_entries` runs of at most `max_bytes`; returns the entries written and moves on.
  std::size_t iovecs_next(struct iovec* out, std::size_t max_entries, std::int64_t max_bytes) noexcept {
    std::int64_t covered = 0;
    const std::size_t n = iovecs(*memory_.layout, memory_.base, memory_.count, offset_,
                                 std::min(max_bytes, remaining()), out, max_entries, &covered);
    offset_ += covered;
    return n;
  }

 private:
  MemoryRef memory_;
  std::int64_t bytes_ = 0;
  std::int64_t offset_ = 0;
};

}  // namespace stria::datatype
