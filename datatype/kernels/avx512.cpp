// The kernel table for x86-64 with AVX-512 and its byte permutation (Ice Lake, Zen 4 and later; the first
// generation, without the permutation and with slow clocks, runs the AVX2 table). Masked loads and stores
// copy a block of any length up to 128 bytes by two moves without a branch, and touch no byte outside of it.
#if defined(__x86_64__)
// GCC 12 warns of uninitialised variables in its own intrinsics.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>

#include "datatype/kernels/lists.hpp"
#include "datatype/kernels/square8.hpp"
#include "datatype/kernels/strided.hpp"
#include "datatype/kernels/table.hpp"
#include "datatype/stretches.hpp"

namespace stria::datatype::kernel {
namespace {

/// A mask of the low n bits, 0 <= n < 256; of all bits for n >= 64. Without a branch.
[[gnu::always_inline, gnu::target("bmi,bmi2")]] inline __mmask64 first_bits(std::int64_t n) noexcept {
  return _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(n));
}
/// A mask of the low n bits, for any n: of all bits for n >= 64, of none for n <= 0.
[[gnu::always_inline, gnu::target("bmi,bmi2")]] inline __mmask64 low_bits(std::int64_t n) noexcept {
  return n <= 0 ? 0 : _bzhi_u64(~std::uint64_t{0}, n >= 64 ? 64U : static_cast<unsigned>(n));
}
/// A mask of the bytes of the first n > 0 records in a vector; the records are `stride` apart.
[[gnu::always_inline, gnu::target("bmi,bmi2")]] inline __mmask64 records_mask(const Permutation& p,
                                                                              std::int64_t stride,
                                                                              std::int64_t n) noexcept {
  return p.memory_mask & low_bits((n - 1) * stride + p.span);
}

/// The functions of the table. Their parameters are those of the types in Kernels and ListKernels.
struct Target {
  static constexpr std::size_t kVector = 64;

  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void run(
      Address to, Address from, std::int64_t n) noexcept {
    copy_run<kVector>(to, from, n);
  }
  template <class B>
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void strided(
      Address from, std::int64_t from_stride, Address to, std::int64_t to_stride, std::int64_t count,
      std::int64_t bytes) noexcept {
    kernel::strided(B(bytes), from, from_stride, to, to_stride, count);
  }
  template <class B, std::int64_t kBytes>
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void nest(
      const Nest& n) noexcept {
    kernel::nest<&Target::template strided<B>, B, TurnedSquare<B, kBytes>, Plain<B, kBytes>>(B(n.bytes), n);
  }
  template <bool kPack, class B, class Int>
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void indexed(
      Address memory, const Int* places, std::int64_t count, Address stream, std::int64_t stream_stride,
      std::int64_t bytes) noexcept {
    kernel::indexed(B(bytes), StreamEnds<kPack, Int>{memory, places, stream}, count, stream_stride);
  }
  template <class B, class Int>
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void indexed_across(
      const ListEnds<Int>& ends, std::int64_t count, std::int64_t bytes) noexcept {
    kernel::indexed(B(bytes), ends, count, 0);
  }

  template <class Ends, class Int>
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void in_halves(
      Ends ends, const Int* starts, std::int64_t count) noexcept {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t bytes = starts[i + 1] - starts[i];
      const Address from = ends.from(i), to = ends.to(i);
      if (bytes <= 32) {
        const auto mask = static_cast<__mmask32>(first_bits(bytes));
        _mm256_mask_storeu_epi8(at(to), mask, _mm256_maskz_loadu_epi8(mask, at(from)));
      } else {
        copy_one<kVector>(to, from, bytes);
      }
      ends.advance(bytes);
    }
  }
  template <class Ends, class Int>
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void in_vectors(
      Ends ends, const Int* starts, std::int64_t count) noexcept {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t bytes = starts[i + 1] - starts[i];
      const Address from = ends.from(i), to = ends.to(i);
      if (bytes <= 64) {
        const __mmask64 mask = first_bits(bytes);
        _mm512_mask_storeu_epi8(at(to), mask, _mm512_maskz_loadu_epi8(mask, at(from)));
      } else {
        copy_one<kVector>(to, from, bytes);
      }
      ends.advance(bytes);
    }
  }
  template <bool kAsks, class Ends, class Int>
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void in_pairs(
      Ends ends, const Int* starts, std::int64_t count) noexcept {
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (kAsks)
        if (i + kPairsAhead < count) ends.ask_for_two(i + kPairsAhead);
      const std::int64_t bytes = starts[i + 1] - starts[i];
      const Address from = ends.from(i), to = ends.to(i);
      if (bytes <= 128) {
        const std::int64_t beyond = bytes - 64;
        const __mmask64 first = first_bits(bytes), second = first_bits(beyond & ~(beyond >> 63));
        const __m512i a = _mm512_maskz_loadu_epi8(first, at(from));
        const __m512i b = _mm512_maskz_loadu_epi8(second, at(moved(from, 64)));
        _mm512_mask_storeu_epi8(at(to), first, a);
        _mm512_mask_storeu_epi8(at(moved(to, 64)), second, b);
      } else {
        copy_one<kVector>(to, from, bytes);
      }
      ends.advance(bytes);
    }
  }
  /// Copies blocks of several lengths, most of them without a mispredicted branch. `most` (Stretch::bytes)
  /// chooses the width: half a vector (in_halves), one vector (in_vectors), or two (in_pairs), the second
  /// under a mask that is empty for blocks of up to 64 bytes. A branch around the second pays only where
  /// lengths can be predicted. Longer blocks take copy_one(). in_pairs<true>, for lists read from beyond the
  /// caches (most = kFromMemory), prefetches both lines of a block, as masked loads across lines begin too
  /// few misses. Figures: docs/notebook/kernels.md.
  template <class Ends, class Int>
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void by_most(
      Ends ends, const Int* starts, std::int64_t count, std::int64_t most) noexcept {
    if (most <= 32) return in_halves(ends, starts, count);
    if (most <= 64) return in_vectors(ends, starts, count);
    if constexpr (Ends::kCanAskForTwo)
      if (most >= kFromMemory) return in_pairs<true>(ends, starts, count);
    in_pairs<false>(ends, starts, count);
  }
  template <bool kPack, class Int>
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void blocks(
      Address memory, const Int* places, const Int* starts, std::int64_t count, std::int64_t most,
      Address stream) noexcept {
    by_most(StreamEnds<kPack, Int>{memory, places, stream}, starts, count, most);
  }
  template <class Int>
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void blocks_across(
      const ListEnds<Int>& ends, const Int* starts, std::int64_t count, std::int64_t most) noexcept {
    by_most(ends, starts, count, most);
  }

  /// For one record of at most 32 bytes a vector: half a vector lies within one cache line more often.
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void pack_permuted_halves(
      const Permutation& p, Address memory, std::int64_t stride, std::int64_t count,
      Address stream) noexcept {
    const __m256i order = _mm256_load_si256(reinterpret_cast<const __m256i*>(p.pack.data()));
    const auto here = static_cast<__mmask32>(p.memory_mask),
               there = static_cast<__mmask32>(low_bits(p.packed_bytes));
    memory = moved(memory, p.low);
    for (; count > 0; --count) {
      const __m256i turned = _mm256_permutexvar_epi8(order, _mm256_maskz_loadu_epi8(here, at(memory)));
      _mm256_mask_storeu_epi8(at(stream), there, turned);
      memory = moved(memory, stride);
      stream = moved(stream, p.packed_bytes);
    }
  }
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void unpack_permuted_halves(
      const Permutation& p, Address memory, std::int64_t stride, std::int64_t count,
      Address stream) noexcept {
    const __m256i order = _mm256_load_si256(reinterpret_cast<const __m256i*>(p.unpack.data()));
    const auto here = static_cast<__mmask32>(p.memory_mask),
               there = static_cast<__mmask32>(low_bits(p.packed_bytes));
    memory = moved(memory, p.low);
    for (; count > 0; --count) {
      const __m256i turned = _mm256_permutexvar_epi8(order, _mm256_maskz_loadu_epi8(there, at(stream)));
      _mm256_mask_storeu_epi8(at(memory), here, turned);
      memory = moved(memory, stride);
      stream = moved(stream, p.packed_bytes);
    }
  }

  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void pack_permuted(
      const Permutation& p, Address memory, std::int64_t stride, std::int64_t count,
      Address stream) noexcept {
    if (p.records == 1 && p.span <= 32) return pack_permuted_halves(p, memory, stride, count, stream);
    const __m512i order = _mm512_load_si512(p.pack.data());
    const __mmask64 all_here = p.memory_mask, all_there = low_bits(p.packed_bytes);
    memory = moved(memory, p.low);
    std::int64_t left = count;
    // Unmasked stores write up to twice packed_bytes; the next vector writes over what is too much. At least
    // two full vectors follow each of these stores, so none reaches beyond the end of the stream.
    const std::int64_t step = p.records * stride;
    if (p.packed_bytes > 32) {
      for (; left >= 3 * p.records; left -= p.records) {
        const __m512i turned = _mm512_permutexvar_epi8(order, _mm512_maskz_loadu_epi8(all_here, at(memory)));
        _mm512_storeu_si512(at(stream), turned);
        memory = moved(memory, step);
        stream = moved(stream, p.packed_bytes);
      }
    } else if (p.packed_bytes >= 16) {
      for (; left >= 3 * p.records; left -= p.records) {
        const __m512i turned = _mm512_permutexvar_epi8(order, _mm512_maskz_loadu_epi8(all_here, at(memory)));
        _mm256_storeu_epi8(at(stream), _mm512_castsi512_si256(turned));
        memory = moved(memory, step);
        stream = moved(stream, p.packed_bytes);
      }
    } else if (p.packed_bytes >= 8) {
      for (; left >= 3 * p.records; left -= p.records) {
        const __m512i turned = _mm512_permutexvar_epi8(order, _mm512_maskz_loadu_epi8(all_here, at(memory)));
        _mm_storeu_epi8(at(stream), _mm512_castsi512_si128(turned));
        memory = moved(memory, step);
        stream = moved(stream, p.packed_bytes);
      }
    }
    for (; left >= p.records; left -= p.records) {
      const __m512i turned = _mm512_permutexvar_epi8(order, _mm512_maskz_loadu_epi8(all_here, at(memory)));
      _mm512_mask_storeu_epi8(at(stream), all_there, turned);
      memory = moved(memory, step);
      stream = moved(stream, p.packed_bytes);
    }
    if (left == 0) return;
    const __mmask64 here = p.memory_mask & low_bits((left - 1) * stride + p.span),
                    there = low_bits(left * p.record_bytes);
    const __m512i turned = _mm512_permutexvar_epi8(order, _mm512_maskz_loadu_epi8(here, at(memory)));
    _mm512_mask_storeu_epi8(at(stream), there, turned);
  }

  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void unpack_permuted(
      const Permutation& p, Address memory, std::int64_t stride, std::int64_t count,
      Address stream) noexcept {
    if (p.records == 1 && p.span <= 32) return unpack_permuted_halves(p, memory, stride, count, stream);
    const __m512i order = _mm512_load_si512(p.unpack.data());
    const __mmask64 all_here = p.memory_mask, all_there = low_bits(p.packed_bytes);
    memory = moved(memory, p.low);
    std::int64_t left = count;
    const std::int64_t step = p.records * stride;
    for (; left >= p.records; left -= p.records) {
      const __m512i turned = _mm512_permutexvar_epi8(order, _mm512_maskz_loadu_epi8(all_there, at(stream)));
      _mm512_mask_storeu_epi8(at(memory), all_here, turned);
      memory = moved(memory, step);
      stream = moved(stream, p.packed_bytes);
    }
    if (left == 0) return;
    const __mmask64 here = p.memory_mask & low_bits((left - 1) * stride + p.span),
                    there = low_bits(left * p.record_bytes);
    const __m512i turned = _mm512_permutexvar_epi8(order, _mm512_maskz_loadu_epi8(there, at(stream)));
    _mm512_mask_storeu_epi8(at(memory), here, turned);
  }

  // Byte m of the sink's vector is byte source.pack[sink.unpack[m]] of the source's: one permutation.

  /// `from` and `to` point to the lowest byte of the first record: permuted_across() has added `low`.
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void permuted_across_halves(
      const Permutation& source, Address from, std::int64_t from_stride, const Permutation& sink, Address to,
      std::int64_t to_stride, std::int64_t count) noexcept {
    const __m256i order =
        _mm256_permutexvar_epi8(_mm256_load_si256(reinterpret_cast<const __m256i*>(sink.unpack.data())),
                                _mm256_load_si256(reinterpret_cast<const __m256i*>(source.pack.data())));
    const auto here = static_cast<__mmask32>(source.memory_mask & low_bits(source.span)),
               there = static_cast<__mmask32>(sink.memory_mask & low_bits(sink.span));
    for (; count > 0; --count) {
      const __m256i turned = _mm256_permutexvar_epi8(order, _mm256_maskz_loadu_epi8(here, at(from)));
      _mm256_mask_storeu_epi8(at(to), there, turned);
      from = moved(from, from_stride);
      to = moved(to, to_stride);
    }
  }
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi,bmi2")]] static void permuted_across(
      const Permutation& source, Address from, std::int64_t from_stride, const Permutation& sink, Address to,
      std::int64_t to_stride, std::int64_t count) noexcept {
    from = moved(from, source.low);
    to = moved(to, sink.low);
    const std::int64_t records = std::min(source.records, sink.records);
    if (records == 1 && source.span <= 32 && sink.span <= 32)
      return permuted_across_halves(source, from, from_stride, sink, to, to_stride, count);
    const __m512i order =
        _mm512_permutexvar_epi8(_mm512_load_si512(sink.unpack.data()), _mm512_load_si512(source.pack.data()));
    __mmask64 here = records_mask(source, from_stride, records),
              there = records_mask(sink, to_stride, records);
    const std::int64_t from_step = records * from_stride, to_step = records * to_stride;
    for (; count >= records; count -= records) {
      const __m512i turned = _mm512_permutexvar_epi8(order, _mm512_maskz_loadu_epi8(here, at(from)));
      _mm512_mask_storeu_epi8(at(to), there, turned);
      from = moved(from, from_step);
      to = moved(to, to_step);
    }
    if (count == 0) return;
    here = records_mask(source, from_stride, count);
    there = records_mask(sink, to_stride, count);
    const __m512i turned = _mm512_permutexvar_epi8(order, _mm512_maskz_loadu_epi8(here, at(from)));
    _mm512_mask_storeu_epi8(at(to), there, turned);
  }
};

constexpr Kernels make() {
  Kernels table = make_table<Target>("avx512");
  table.permute = {&Target::pack_permuted, &Target::unpack_permuted};
  table.permute_across = &Target::permuted_across;
  return table;
}

}  // namespace

constinit const Kernels kAvx512 = make();

}  // namespace stria::datatype::kernel
#endif
