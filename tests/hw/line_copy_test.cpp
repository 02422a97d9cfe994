// Copies to and from whole lines: every length, from and to any alignment, no byte beyond, and the words
// looked for.
#include "hw/line_copy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace stria::hw {
namespace {

constexpr std::uint32_t kMost = 2048;
constexpr std::byte kUntouched{0xee};

struct Memory {
  alignas(kCacheLine) std::array<std::byte, kMost + 2 * kCacheLine> bytes;
};

void fill(Memory& memory, unsigned seed) {
  std::mt19937 random(seed);
  for (std::byte& byte : memory.bytes) byte = static_cast<std::byte>(random());
}

/// Where the two differ within `bytes`, or where something was written behind them.
void expect_copied(const std::byte* to, const std::byte* from, std::uint32_t bytes) {
  for (std::uint32_t i = 0; i < bytes; ++i) ASSERT_EQ(to[i], from[i]) << "byte " << i << " of " << bytes;
  for (std::uint32_t i = bytes; i < bytes + kCacheLine; ++i)
    ASSERT_EQ(to[i], kUntouched) << "byte " << i << " behind " << bytes;
}

constexpr WordSign kSign{0x0000ffff80000000, 0x0000abcd80000000};

TEST(LineCopy, copies_these_bytes_and_no_others) {
  processor();  // from here on by vectors
  Memory from, to;
  for (std::uint32_t bytes = 1; bytes <= kMost; ++bytes) {
    fill(from, bytes);
    const std::uint32_t shift = bytes % kCacheLine;
    to.bytes.fill(kUntouched);
    store_lines(to.bytes.data(), from.bytes.data() + shift, bytes, kSign);
    expect_copied(to.bytes.data(), from.bytes.data() + shift, bytes);
    to.bytes.fill(kUntouched);
    load_lines(to.bytes.data() + shift, from.bytes.data(), bytes);
    expect_copied(to.bytes.data() + shift, from.bytes.data(), bytes);
  }
}

// A word of a line, whole or as many bytes of it as there are; nowhere else. Who cannot look says yes.
TEST(LineCopy, tells_of_a_line_that_begins_with_such_a_word) {
  const bool looks = processor().vectors >= Vectors::avx2;
  Memory from, to;
  std::mt19937_64 random(7);
  for (std::uint32_t bytes = 8; bytes <= 520; ++bytes) {
    from.bytes.fill(std::byte{0});
    ASSERT_EQ(store_lines(to.bytes.data(), from.bytes.data() + 3, bytes, kSign), !looks) << bytes;
    for (std::uint32_t at = 0; at + 8 <= bytes; at += 8) {
      const std::uint64_t word = kSign.value | (random() & ~kSign.mask);
      std::memcpy(from.bytes.data() + 3 + at, &word, sizeof word);
      ASSERT_EQ(store_lines(to.bytes.data(), from.bytes.data() + 3, bytes, kSign),
                at % kCacheLine == 0 || !looks)
          << "at " << at << " of " << bytes;
      std::memset(from.bytes.data() + 3 + at, 0, sizeof word);
    }
  }
  // The bytes of the last line that are there are the word's lower ones.
  constexpr WordSign kLow{0xffffffff, 0x00112233};
  const std::uint32_t low = 0x00112233;
  from.bytes.fill(std::byte{0});
  std::memcpy(from.bytes.data() + kCacheLine, &low, sizeof low);
  EXPECT_TRUE(store_lines(to.bytes.data(), from.bytes.data(), kCacheLine + 3, kLow));
  EXPECT_EQ(store_lines(to.bytes.data(), from.bytes.data(), kCacheLine + 2, kLow), !looks);
}

}  // namespace
}  // namespace stria::hw
