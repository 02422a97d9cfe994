// Where the string instruction suits, and that it copies what it is told to.
#include "hw/string_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace stria::hw {
namespace {

constexpr std::size_t kPage = 4096;

class StringCopy : public testing::Test {
 protected:
  static std::byte* at_page(std::vector<std::byte>& memory) {
    auto place = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (kPage - place % kPage) % kPage;
  }
  std::vector<std::byte> source = std::vector<std::byte>(4 * kPage);
  std::vector<std::byte> target = std::vector<std::byte>(4 * kPage);
  std::byte* from = at_page(source);
  std::byte* to = at_page(target);
};

TEST_F(StringCopy, suits_lines_that_are_not_a_little_behind_the_source_in_a_page) {
  EXPECT_TRUE(strings_suit(to, from));
  for (std::size_t behind = 1; behind < kCacheLine; ++behind) {
    EXPECT_FALSE(strings_suit(to + behind, from)) << "no line begins there";
    EXPECT_FALSE(strings_suit(to + kCacheLine, from + kCacheLine - behind)) << behind;
    EXPECT_FALSE(strings_suit(to, from + kPage - behind)) << behind << " across the end of a page";
    EXPECT_TRUE(strings_suit(to + kCacheLine, from + kCacheLine + behind)) << behind << " before the source";
  }
  EXPECT_TRUE(strings_suit(to + kCacheLine, from));
  EXPECT_TRUE(strings_suit(to + kPage, from));
}

TEST_F(StringCopy, copies_these_bytes_and_no_others) {
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + i / 251);
  for (const std::size_t bytes : {0, 1, 63, 64, 65, 2048, 4097}) {
    std::fill(target.begin(), target.end(), std::byte{0xee});
    string_copy(to, from + 3, bytes);
    EXPECT_TRUE(std::equal(to, to + bytes, from + 3));
    EXPECT_EQ(to[bytes], std::byte{0xee}) << "behind " << bytes;
  }
}

TEST_F(StringCopy, copies_to_any_place_or_nothing_at_all) {
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + i / 251);
  for (const std::size_t bytes : {64, 65, 300, 4097})
    for (std::size_t target_at = 1; target_at <= kCacheLine; ++target_at)
      for (const std::size_t source_at : {std::size_t{0}, target_at, std::size_t{17}}) {
        std::fill(target.begin(), target.end(), std::byte{0xee});
        const bool done = string_copy_anywhere(to + target_at, from + source_at, bytes);
        const std::size_t head = kCacheLine - (target_at - 1) % kCacheLine - 1;
        EXPECT_EQ(done, strings_suit(to + target_at + head, from + source_at + head));
        const std::size_t copied = done ? bytes : 0;
        EXPECT_EQ(to[target_at - 1], std::byte{0xee});
        EXPECT_TRUE(std::equal(to + target_at, to + target_at + copied, from + source_at));
        EXPECT_EQ(to[target_at + copied], std::byte{0xee}) << copied;
      }
  EXPECT_FALSE(string_copy_anywhere(to + 1, from, kCacheLine - 2)) << "no whole line";
}

}  // namespace
}  // namespace stria::hw
