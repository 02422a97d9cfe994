// The arithmetic of strided keys, and the bytes of a key that a peer made up. Needs no device.
#include "transport/blocks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <random>

#include "transport/verbs/keys.hpp"

namespace stria::verbs {
namespace {

constexpr std::uint64_t kMost = ~std::uint64_t{0};
constexpr std::uint64_t kTotal = std::uint64_t{64} * 4096;
constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

TEST(Blocks, every_byte_of_the_stream_is_where_the_blocks_are) {
  for (const std::int64_t stride : {0, 7, 10, 1000, -7, -1000}) {
    const Blocks memory{5000, 35, 7, stride};
    Span span;
    ASSERT_TRUE(span_of(memory, span));
    for (std::uint64_t offset = 0; offset < 35; ++offset) {
      const Span run = run_at(memory, offset);
      const auto block = static_cast<std::int64_t>(offset / 7);
      EXPECT_EQ(run.begin, static_cast<std::uint64_t>(5000 + block * stride) + offset % 7);
      EXPECT_EQ(run.bytes, 7 - offset % 7) << "up to the end of its block";
      EXPECT_GE(run.begin, span.begin);
      EXPECT_LE(run.begin + run.bytes, span.begin + span.bytes);
    }
    EXPECT_EQ(span.bytes, static_cast<std::uint64_t>(4 * std::abs(stride)) + 7);
  }
}

TEST(Blocks, one_block_is_contiguous) {
  const Blocks memory{100, 50, 50, 0};
  Span span;
  ASSERT_TRUE(span_of(memory, span));
  EXPECT_EQ(span.begin, 100u);
  EXPECT_EQ(span.bytes, 50u);
  EXPECT_EQ(run_at(memory, 20).begin, 120u);
  EXPECT_EQ(run_at(memory, 20).bytes, 30u);
}

TEST(Blocks, what_cannot_lie_in_memory_is_refused) {
  const Blocks bad[] = {
      {100, 0, 0, 0},                  // no bytes
      {100, 0, 8, 8},                  // no blocks
      {100, 8, 0, 8},                  // of no bytes
      {100, 12, 8, 8},                 // one is cut
      {100, 24, 8, kLongest},          // the distance leaves 64 bits
      {100, 24, 8, kLowest},           // likewise
      {100, 16, 8, kLowest},           // below the addresses
      {100, 16, 8, -101},              // likewise
      {kMost - 7, 16, 8, 8},           // beyond
      {kMost - 7, 16, 16, 0},          // one block beyond
      {0, kMost, 1, kLongest},         // so many that they have no distance
      {1, kMost, 1, -1},               // likewise
      {kMost, kMost, kMost, kLowest},  // all of it
  };
  for (const Blocks& memory : bad) {
    Span span;
    EXPECT_FALSE(span_of(memory, span))
        << memory.first << ' ' << memory.bytes << ' ' << memory.block << ' ' << memory.stride;
  }
  Span span;
  EXPECT_TRUE(span_of({100, 16, 8, -100}, span)) << "down to address 0";
  EXPECT_EQ(span.begin, 0u);
}

/// A key as a peer may have written it.
transport::Key key_of(const KeyData& data, std::uint32_t block, std::int64_t stride) {
  const auto bits = static_cast<std::uint64_t>(stride);
  const KeyStride more{block, {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)}};
  transport::Key key{};
  key.bytes = sizeof data + sizeof more;
  std::memcpy(key.data, &data, sizeof data);
  std::memcpy(key.data + sizeof data, &more, sizeof more);
  return key;
}

TEST(StridedKey, is_read_back_and_taken_for_nothing_else) {
  const KeyData data{0x1234, kKeyMark, KeyKind::window, STRIA_ACCESS_REMOTE_READ, 1 << 20, kTotal};
  KeyContent content;
  ASSERT_TRUE(read_key(key_of(data, 4096, -8192), content));
  EXPECT_EQ(content.rkey, 0x1234u);
  EXPECT_EQ(content.memory.first, 1u << 20);
  EXPECT_EQ(content.memory.block, 4096u);
  EXPECT_EQ(content.memory.stride, -8192);
  EXPECT_EQ(content.span.bytes, 63u * 8192 + 4096);
  EXPECT_EQ(content.span.begin, (1u << 20) - 63u * 8192);
  for (std::uint32_t bytes = 0; bytes <= STRIA_PROVIDER_KEY_MAX; ++bytes) {
    transport::Key cut = key_of(data, 4096, -8192);
    cut.bytes = bytes;
    EXPECT_EQ(read_key(cut, content),
              bytes == sizeof(KeyData) || bytes == sizeof(KeyData) + sizeof(KeyStride))
        << bytes;
  }
}

TEST(StridedKey, hostile_numbers_are_refused_before_anything_is_asked_for) {
  const KeyData data{0x1234, kKeyMark, KeyKind::window, STRIA_ACCESS_REMOTE_READ, 1 << 20, kTotal};
  KeyContent content;
  EXPECT_FALSE(read_key(key_of(data, 0, 8192), content));
  EXPECT_FALSE(read_key(key_of(data, 4095, 8192), content)) << "a block is cut";
  EXPECT_FALSE(read_key(key_of(data, 64 * 4096, 0), content)) << "one block has the shorter key";
  EXPECT_FALSE(read_key(key_of(data, 4096, kLongest), content));
  EXPECT_FALSE(read_key(key_of(data, 4096, kLowest), content));
  EXPECT_FALSE(read_key(key_of(data, 4096, -(1 << 20)), content)) << "below address 0";
  // Whatever is accepted keeps within its span, which does not wrap.
  std::mt19937_64 random(9);
  int accepted = 0;
  for (int i = 0; i < 200000; ++i) {
    KeyData noise = data;
    noise.address = random() >> random() % 64;
    noise.bytes = random() >> random() % 64;
    const auto block = static_cast<std::uint32_t>(random() >> (32 + random() % 32));
    const auto stride = static_cast<std::int64_t>(random() >> random() % 64);
    if (block != 0 && i % 2 == 0) noise.bytes -= noise.bytes % block;
    if (!read_key(key_of(noise, block, i % 3 == 0 ? -stride : stride), content)) continue;
    ++accepted;
    ASSERT_GE(content.span.begin + content.span.bytes, content.span.begin);
    for (const std::uint64_t offset :
         {std::uint64_t{0}, content.memory.bytes - 1, random() % content.memory.bytes}) {
      const Span run = run_at(content.memory, offset);
      ASSERT_GE(run.begin, content.span.begin);
      ASSERT_GT(run.bytes, 0u);
      ASSERT_LE(run.begin - content.span.begin + run.bytes, content.span.bytes);
    }
  }
  EXPECT_GT(accepted, 1000) << "the noise is refused for a reason that says nothing";
}

}  // namespace
}  // namespace stria::verbs
