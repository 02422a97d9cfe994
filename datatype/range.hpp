// Range: which bytes of described memory a function copies or lists, as a range of the packed stream.
//
//   memory   | instance 0 | instance 1 | ... |   from `base` on, extent() apart, each as the layout says
//   stream   | size() bytes of each, in typemap order |   count * size() bytes in all
//   range         | length |   from byte `offset` of the stream on
//
// A payload of the provider contract (stria_payload_t) has the same five fields in the same order, but its
// layout may be null, for contiguous memory, which is copied without datatype/.
#pragma once

#include <cstdint>
#include <type_traits>

#include "datatype/layout.hpp"

namespace stria::datatype {

/// Bytes [offset, offset + length) of the packed stream of `count` instances of a layout at `base`. `base` is
/// not const, but a function that reads from a range writes nothing there.
struct Range {
  const Layout* layout;  ///< not null; must live and not change while the range is in use
  void* base;
  std::int64_t count;
  std::int64_t offset;
  std::int64_t length;
};
static_assert(std::is_trivially_copyable_v<Range> && sizeof(Range) == 40);

/// A range of memory that is not written: for pack(), iovecs() and the source of transfer().
inline Range range_of(const Layout& layout, const void* base, std::int64_t count, std::int64_t offset,
                      std::int64_t length) noexcept {
  return {&layout, const_cast<void*>(base), count, offset, length};
}

}  // namespace stria::datatype
