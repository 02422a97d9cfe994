// The innermost copies between described memory and the packed stream, specialised by block size. kPack
// gathers into the stream, otherwise the stream is scattered. One template per list form; the block size is a
// compile-time constant where it is common, so that each block is one or a few moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace stria::datatype {

/// Memory is addressed as integers: with absolute displacements the base is no object one may point from.
using Address = std::uintptr_t;

inline std::byte* at(Address address) noexcept {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}
inline Address address_of(const void* p) noexcept {
  return reinterpret_cast<Address>(p);
}
inline Address moved(Address a, std::int64_t by) noexcept {
  return a + static_cast<Address>(by);
}

/// A copy of `n` > 0 bytes where n is small more often than not: no call below 64 bytes. No overlap.
inline void copy_any(std::byte* to, const std::byte* from, std::size_t n) noexcept {
  // Two moves that may overlap cover each range up to twice their width.
  auto two = [&]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    std::byte head[N], tail[N];
    std::memcpy(head, from, N);
    std::memcpy(tail, from + n - N, N);
    std::memcpy(to, head, N);
    std::memcpy(to + n - N, tail, N);
  };
  if (n > 64) {
    std::memcpy(to, from, n);
  } else if (n > 32) {
    two(std::integral_constant<std::size_t, 32>{});
  } else if (n >= 16) {
    two(std::integral_constant<std::size_t, 16>{});
  } else if (n >= 8) {
    two(std::integral_constant<std::size_t, 8>{});
  } else if (n >= 4) {
    two(std::integral_constant<std::size_t, 4>{});
  } else {
    for (std::size_t i = 0; i < n; ++i) to[i] = from[i];
  }
}

/// A block size known when compiled, and one that is not.
template <std::size_t N>
struct FixedBlock {
  static constexpr std::size_t bytes() noexcept { return N; }
  static void copy(std::byte* to, const std::byte* from) noexcept { std::memcpy(to, from, N); }
};
struct AnyBlock {
  std::size_t n;
  std::size_t bytes() const noexcept { return n; }
  void copy(std::byte* to, const std::byte* from) const noexcept { copy_any(to, from, n); }
};

/// Calls `f` with the block type for `bytes`.
template <class F>
void with_block(std::int64_t bytes, F f) noexcept {
  switch (bytes) {
    case 1:
      return f(FixedBlock<1>{});
    case 2:
      return f(FixedBlock<2>{});
    case 4:
      return f(FixedBlock<4>{});
    case 8:
      return f(FixedBlock<8>{});
    case 12:
      return f(FixedBlock<12>{});
    case 16:
      return f(FixedBlock<16>{});
    case 24:
      return f(FixedBlock<24>{});
    case 32:
      return f(FixedBlock<32>{});
    case 48:
      return f(FixedBlock<48>{});
    case 64:
      return f(FixedBlock<64>{});
    default:
      return f(AnyBlock{static_cast<std::size_t>(bytes)});
  }
}

template <bool kPack, class B>
void copy_block(const B& block, Address memory, std::byte* stream) noexcept {
  if constexpr (kPack)
    block.copy(stream, at(memory));
  else
    block.copy(at(memory), stream);
}

/// `count` blocks, `stride` apart, starting at `memory`; `stream` holds them one after the other.
template <bool kPack>
void copy_strided(Address memory, std::int64_t count, std::int64_t stride, std::int64_t bytes,
                  std::byte* stream) noexcept {
  with_block(bytes, [=](auto block) {
    const std::size_t n = block.bytes();
    Address m = memory;
    std::byte* s = stream;
    std::int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      copy_block<kPack>(block, m, s);
      copy_block<kPack>(block, moved(m, stride), s + n);
      copy_block<kPack>(block, moved(moved(m, stride), stride), s + 2 * n);
      copy_block<kPack>(block, moved(moved(moved(m, stride), stride), stride), s + 3 * n);
      m = moved(moved(moved(moved(m, stride), stride), stride), stride);
      s += 4 * n;
    }
    for (; i < count; ++i) {
      copy_block<kPack>(block, m, s);
      m = moved(m, stride);
      s += n;
    }
  });
}

/// Blocks of one size at memory + displacements[0 .. count).
template <bool kPack>
void copy_indexed(Address memory, const std::int64_t* displacements, std::int64_t count, std::int64_t bytes,
                  std::byte* stream) noexcept {
  with_block(bytes, [=](auto block) {
    for (std::int64_t i = 0; i < count; ++i)
      copy_block<kPack>(block, moved(memory, displacements[i]),
                        stream + static_cast<std::size_t>(i) * block.bytes());
  });
}

/// Blocks of starts[i+1] - starts[i] bytes at memory + displacements[i], i in [0, count).
template <bool kPack>
void copy_blocks(Address memory, const std::int64_t* displacements, const std::int64_t* starts,
                 std::int64_t count, std::byte* stream) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    const AnyBlock block{static_cast<std::size_t>(starts[i + 1] - starts[i])};
    copy_block<kPack>(block, moved(memory, displacements[i]), stream + (starts[i] - starts[0]));
  }
}

/// Strided memory to strided memory.
inline void copy_strided_to_strided(Address from, std::int64_t from_stride, Address to,
                                    std::int64_t to_stride, std::int64_t count, std::int64_t bytes) noexcept {
  with_block(bytes, [=](auto block) {
    Address f = from, t = to;
    for (std::int64_t i = 0; i < count; ++i) {
      block.copy(at(t), at(f));
      f = moved(f, from_stride);
      t = moved(t, to_stride);
    }
  });
}

}  // namespace stria::datatype
