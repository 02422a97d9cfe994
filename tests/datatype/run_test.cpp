// Long contiguous copies by every table of kernels that this processor runs: each byte, and none around them.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "datatype/kernels/kernels.hpp"
#include "datatype/pack.hpp"

namespace stria::datatype {
namespace {

constexpr std::size_t kGuard = 128;

/// Copies n bytes between these distances from the start of a line, by `copy`.
template <class Copy>
void check(std::size_t n, std::size_t from_at, std::size_t to_at, Copy copy) {
  std::vector<unsigned char> from(n + 2 * kGuard), to(n + 2 * kGuard, 0xee), expected;
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 131 + i / 251);
  const auto line_of = [](std::vector<unsigned char>& v, std::size_t at) {
    const std::size_t lead = (64 - (address_of(v.data()) & 63)) & 63;
    return v.data() + lead + at;
  };
  expected = to;
  unsigned char* const source = line_of(from, from_at);
  unsigned char* const sink = line_of(to, to_at);
  std::memcpy(expected.data() + (sink - to.data()), source, n);
  copy(sink, source, n);
  ASSERT_EQ(to, expected) << n << " bytes, from " << from_at << " to " << to_at;
}

TEST(Run, copies_each_byte_and_no_other) {
  for (const Kernels* k : runnable_kernels()) {
    SCOPED_TRACE(k->name);
    const auto run = [k](void* to, const void* from, std::size_t n) {
      k->run(address_of(to), address_of(from), static_cast<std::int64_t>(n));
    };
    for (std::size_t n = 65; n <= 700; ++n)
      for (const std::size_t at : {0u, 1u, 17u, 32u, 63u}) check(n, (at * 7) % 64, at, run);
    for (const std::size_t n : {2047u, 2048u, 2049u, 4096u, 8191u, 8192u, 8193u, 65536u, 100003u})
      for (std::size_t at = 0; at < 64; at += 3) check(n, 63 - at, at, run);
  }
}

TEST(Run, is_what_copies_any_number_of_bytes) {
  for (const std::size_t n : {0u, 1u, 63u, 64u, 65u, 2047u, 2048u, 2049u, 32768u})
    check(n, 5, 9, [](void* to, const void* from, std::size_t bytes) { copy_bytes(to, from, bytes); });
}

}  // namespace
}  // namespace stria::datatype
