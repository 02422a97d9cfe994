// Buffers for unexpected payload: big enough, never shared, counted, and given back to the system beyond the
// limit.
#include "eager/buffer_pool.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "eager/credit.hpp"
#include "tests/rounds.hpp"

namespace stria::eager {
namespace {

TEST(BufferPool, holds_what_was_asked_for_at_every_boundary_of_a_size_class) {
  BufferPool pool(1u << 20);
  for (std::uint64_t power = 1; power <= 1u << 20; power *= 2) {
    for (const std::uint64_t bytes : {power - 1, power, power + 1}) {
      std::byte* buffer = pool.acquire(bytes);
      ASSERT_NE(buffer, nullptr);
      std::memset(buffer, 0x5a, bytes);  // a sanitizer sees a buffer that is too short
      EXPECT_GE(pool.in_use(), bytes);
      pool.release(buffer, bytes);
      EXPECT_EQ(pool.in_use(), 0u);
    }
  }
}

TEST(BufferPool, a_buffer_is_at_most_a_quarter_longer_than_what_it_holds) {
  BufferPool pool(0);
  for (std::uint64_t bytes = 1; bytes < 70000; bytes += bytes < 5000 ? 1 : 97) {
    std::byte* buffer = pool.acquire(bytes);
    ASSERT_NE(buffer, nullptr);
    // Beside it the allocator has a word, and rounds up to 16 bytes; 32 are its least.
    ASSERT_LE(pool.in_use(), std::max<std::uint64_t>(32, bytes + bytes / 4 + 8 + 15)) << bytes;
    pool.release(buffer, bytes);
  }
}

TEST(BufferPool, counts_the_memory_that_a_buffer_takes_from_the_allocator) {
  BufferPool pool(0);
  for (std::uint64_t bytes = 1; bytes < 70000; bytes += bytes < 5000 ? 1 : 97) {
    std::byte* buffer = pool.acquire(bytes);
    ASSERT_NE(buffer, nullptr);
    ASSERT_EQ(pool.in_use(), BufferPool::footprint(bytes));
#if defined(__GLIBC__) && !defined(STRIA_TEST_SANITIZED)
    // What the allocator says can be used, and the word before it; it may have given a piece that was a
    // little longer.
    ASSERT_GE(::malloc_usable_size(buffer) + 8, pool.in_use()) << bytes;
    ASSERT_LE(::malloc_usable_size(buffer) + 8, pool.in_use() + 16) << bytes;
#endif
    if (bytes > 16) {
      ASSERT_LE(pool.in_use(), most_memory(bytes)) << bytes;
    }
    pool.release(buffer, bytes);
  }
}

TEST(BufferPool, free_buffers_of_one_size_do_not_stand_beside_a_whole_limit_of_another) {
  constexpr std::uint64_t kLimit = 1u << 20;
  BufferPool pool(kLimit);
  for (const std::uint64_t bytes : {std::uint64_t{1000}, std::uint64_t{3000}, std::uint64_t{100}}) {
    std::vector<std::byte*> taken;
    while (pool.in_use() + BufferPool::footprint(bytes) <= kLimit) {
      taken.push_back(pool.acquire(bytes));
      ASSERT_NE(taken.back(), nullptr);
      ASSERT_LE(pool.in_use() + pool.cached(), kLimit);
    }
    for (std::byte* buffer : taken) pool.release(buffer, bytes);
    EXPECT_GT(pool.cached(), kLimit / 2) << "they are kept for the next";
  }
}

TEST(BufferPool, gives_a_buffer_to_one_user_at_a_time) {
  const unsigned seed = 77;
  std::mt19937 random(seed);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  BufferPool pool(1u << 16);
  struct Taken {
    std::byte* buffer;
    std::uint64_t bytes;
    int mark;
  };
  std::vector<Taken> taken;
  for (int step = 0; step < 20000; ++step) {
    if (taken.size() < 50 && random() % 2 == 0) {
      const std::uint64_t bytes = 1 + random() % 5000;
      std::byte* buffer = pool.acquire(bytes);
      ASSERT_NE(buffer, nullptr);
      std::memset(buffer, step & 0xff, bytes);
      taken.push_back({buffer, bytes, step & 0xff});
    } else if (!taken.empty()) {
      std::swap(taken[random() % taken.size()], taken.back());
      const Taken last = taken.back();
      taken.pop_back();
      for (std::uint64_t i = 0; i < last.bytes; ++i)
        ASSERT_EQ(std::to_integer<int>(last.buffer[i]), last.mark);
      pool.release(last.buffer, last.bytes);
    }
  }
  for (const Taken& one : taken) pool.release(one.buffer, one.bytes);
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST(BufferPool, a_steady_state_reuses_its_buffers) {
  BufferPool pool(1u << 20);
  std::byte* first = pool.acquire(1000);
  pool.release(first, 1000);
  std::byte* second = pool.acquire(900);  // of the same class
  EXPECT_EQ(first, second);
  pool.release(second, 900);
}

TEST(BufferPool, remembers_the_most_that_was_in_use) {
  BufferPool pool(0);
  std::byte* a = pool.acquire(4096);
  std::byte* b = pool.acquire(4096);
  pool.release(a, 4096);
  EXPECT_EQ(pool.in_use(), BufferPool::footprint(4096));
  EXPECT_EQ(pool.in_use_max(), 2 * BufferPool::footprint(4096));
  pool.release(b, 4096);
}

}  // namespace
}  // namespace stria::eager
