// The table of kernels for x86-64 with AVX2: a block of 32 bytes takes one move, and squares of 8-byte
// elements are transposed in registers.
#if defined(__x86_64__)
#include <immintrin.h>

#include "datatype/kernels/lists.hpp"
#include "datatype/kernels/square8.hpp"
#include "datatype/kernels/strided.hpp"
#include "datatype/kernels/table.hpp"

namespace stria::datatype::kernel {
namespace {

/// The functions of the table. Their parameters are those of the types in Kernels and ListKernels.
struct Target {
  static constexpr std::size_t kVector = 32;

  [[gnu::target("avx2,bmi,bmi2")]] static void run(Address to, Address from, std::int64_t n) noexcept {
    copy_run<kVector>(to, from, n);
  }
  template <class B>
  [[gnu::target("avx2,bmi,bmi2")]] static void strided(Address from, std::int64_t from_stride, Address to,
                                                       std::int64_t to_stride, std::int64_t count,
                                                       std::int64_t bytes) noexcept {
    kernel::strided(B(bytes), from, from_stride, to, to_stride, count);
  }
  template <class B, std::int64_t kBytes>
  [[gnu::target("avx2,bmi,bmi2")]] static void nest(const Nest& n) noexcept {
    kernel::nest<&Target::template strided<B>, B, TurnedSquare<B, kBytes>, Plain<B, kBytes>>(B(n.bytes), n);
  }
  template <bool kPack, class B, class Int>
  [[gnu::target("avx2,bmi,bmi2")]] static void indexed(Address memory, const Int* places, std::int64_t count,
                                                       Address stream, std::int64_t stream_stride,
                                                       std::int64_t bytes) noexcept {
    kernel::indexed(B(bytes), StreamEnds<kPack, Int>{memory, places, stream}, count, stream_stride);
  }
  template <class B, class Int>
  [[gnu::target("avx2,bmi,bmi2")]] static void indexed_across(const ListEnds<Int>& ends, std::int64_t count,
                                                              std::int64_t bytes) noexcept {
    kernel::indexed(B(bytes), ends, count, 0);
  }
  template <bool kPack, class Int>
  [[gnu::target("avx2,bmi,bmi2")]] static void blocks(Address memory, const Int* places, const Int* starts,
                                                      std::int64_t count, std::int64_t /*most*/,
                                                      Address stream) noexcept {
    kernel::blocks<kVector>(StreamEnds<kPack, Int>{memory, places, stream}, starts, count);
  }
  template <class Int>
  [[gnu::target("avx2,bmi,bmi2")]] static void blocks_across(const ListEnds<Int>& ends, const Int* starts,
                                                             std::int64_t count,
                                                             std::int64_t /*most*/) noexcept {
    kernel::blocks<kVector>(ends, starts, count);
  }
};

}  // namespace

constinit const Kernels kAvx2 = make_table<Target>("avx2");

}  // namespace stria::datatype::kernel
#endif
