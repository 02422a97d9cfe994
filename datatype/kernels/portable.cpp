// The table of kernels that every processor can run: plain C++, on x86-64 with SSE2.
#include "datatype/kernels/lists.hpp"
#include "datatype/kernels/strided.hpp"
#include "datatype/kernels/table.hpp"

namespace stria::datatype::kernel {
namespace {

/// The functions of the table. Their parameters are those of the types in Kernels and ListKernels.
struct Target {
  static constexpr std::size_t kVector = 16;

  static void run(Address to, Address from, std::int64_t n) noexcept { copy_run<kVector>(to, from, n); }
  template <class B>
  static void strided(Address from, std::int64_t from_stride, Address to, std::int64_t to_stride,
                      std::int64_t count, std::int64_t bytes) noexcept {
    kernel::strided(B(bytes), from, from_stride, to, to_stride, count);
  }
  template <class B, std::int64_t kBytes>
  static void nest(const Nest& n) noexcept {
    kernel::nest<&Target::template strided<B>, B, Plain<B, kBytes>, Plain<B, kBytes>>(B(n.bytes), n);
  }
  template <bool kPack, class B, class Int>
  static void indexed(Address memory, const Int* places, std::int64_t count, Address stream,
                      std::int64_t stream_stride, std::int64_t bytes) noexcept {
    kernel::indexed(B(bytes), StreamEnds<kPack, Int>{memory, places, stream}, count, stream_stride);
  }
  template <class B, class Int>
  static void indexed_across(const ListEnds<Int>& ends, std::int64_t count, std::int64_t bytes) noexcept {
    kernel::indexed(B(bytes), ends, count, 0);
  }
  template <bool kPack, class Int>
  static void blocks(Address memory, const Int* places, const Int* starts, std::int64_t count,
                     std::int64_t /*most*/, Address stream) noexcept {
    kernel::blocks<kVector>(StreamEnds<kPack, Int>{memory, places, stream}, starts, count);
  }
  template <class Int>
  static void blocks_across(const ListEnds<Int>& ends, const Int* starts, std::int64_t count,
                            std::int64_t /*most*/) noexcept {
    kernel::blocks<kVector>(ends, starts, count);
  }
};

}  // namespace

constinit const Kernels kPortable = make_table<Target>("portable");

}  // namespace stria::datatype::kernel
