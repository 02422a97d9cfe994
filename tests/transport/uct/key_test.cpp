// What the bytes of a key say, and what is taken for none. Needs no device.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "transport/uct/keys.hpp"

namespace stria::uct {
namespace {

constexpr std::uint32_t kUcxBytes = 8;

struct Written {
  std::uint64_t first = 0x7000'0000'1000, bytes = 16 * 4096;
  std::uint16_t access = STRIA_ACCESS_REMOTE_READ;
  std::uint16_t mark = kKeyMark;
};
transport::Key key_of(const Written& written) {
  transport::Key key{};
  const KeyTail tail{
      77,
      written.mark,
      written.access,
      {static_cast<std::uint32_t>(written.first), static_cast<std::uint32_t>(written.first >> 32)},
      {static_cast<std::uint32_t>(written.bytes), static_cast<std::uint32_t>(written.bytes >> 32)}};
  std::memcpy(key.data + kUcxBytes, &tail, sizeof tail);
  key.bytes = kUcxBytes + sizeof tail;
  return key;
}
transport::Key key_of(const Written& written, std::uint32_t block, std::int64_t stride) {
  transport::Key key = key_of(written);
  const auto bits = static_cast<std::uint64_t>(stride);
  const KeyStride more{block, {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)}};
  std::memcpy(key.data + key.bytes, &more, sizeof more);
  key.bytes += sizeof more;
  return key;
}

TEST(Key, contiguous_memory_is_read_back) {
  KeyContent content;
  const transport::Key key = key_of({});
  ASSERT_TRUE(read_key(key, kUcxBytes, content));
  EXPECT_EQ(content.tail.name, 77u);
  EXPECT_EQ(content.tail.access, unsigned{STRIA_ACCESS_REMOTE_READ});
  EXPECT_EQ(content.memory.first, Written{}.first);
  EXPECT_EQ(content.memory.bytes, Written{}.bytes);
  EXPECT_TRUE(content.memory.is_one());
  EXPECT_EQ(content.ucx, key.data);
}

TEST(Key, blocks_are_read_back) {
  KeyContent content;
  ASSERT_TRUE(read_key(key_of({}, 4096, -8192), kUcxBytes, content));
  EXPECT_EQ(content.memory.block, 4096u);
  EXPECT_EQ(content.memory.stride, -8192);
  EXPECT_EQ(content.memory.bytes, Written{}.bytes);
}

TEST(Key, any_other_length_is_none) {
  KeyContent content;
  for (std::uint32_t bytes = 0; bytes <= STRIA_PROVIDER_KEY_MAX; ++bytes) {
    transport::Key key = key_of({}, 4096, 8192);
    key.bytes = bytes;
    const bool is_key =
        bytes == kUcxBytes + sizeof(KeyTail) || bytes == kUcxBytes + sizeof(KeyTail) + sizeof(KeyStride);
    EXPECT_EQ(read_key(key, kUcxBytes, content), is_key) << bytes;
  }
  EXPECT_FALSE(read_key(key_of({}), 0, content)) << "a transport without keys";
  EXPECT_FALSE(read_key(key_of({}), 24, content)) << "of another transport";
}

TEST(Key, what_no_owner_writes_is_refused) {
  KeyContent content;
  EXPECT_FALSE(read_key(key_of({.mark = kKeyMark + 1}), kUcxBytes, content));
  EXPECT_FALSE(read_key(key_of({.access = 0x8000}), kUcxBytes, content)) << "a right that there is not";
  EXPECT_FALSE(read_key(key_of({.bytes = 0}), kUcxBytes, content));
  EXPECT_FALSE(read_key(key_of({.first = ~0ull - 10}), kUcxBytes, content)) << "beyond the addresses";
  EXPECT_FALSE(read_key(key_of({}, 0, 8192), kUcxBytes, content));
  EXPECT_FALSE(read_key(key_of({}, 4095, 8192), kUcxBytes, content)) << "a block is cut";
  EXPECT_FALSE(read_key(key_of({}, 16 * 4096, 0), kUcxBytes, content)) << "one block has the shorter key";
  EXPECT_FALSE(read_key(key_of({.first = 4096}, 4096, -8192), kUcxBytes, content)) << "below address 0";
}

TEST(Key, noise_that_is_taken_stays_within_its_span) {
  std::mt19937_64 random(39);
  int taken = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto block = static_cast<std::uint32_t>(random() >> (32 + random() % 32));
    Written noise{.first = random() >> random() % 64, .bytes = random() >> random() % 64};
    if (block != 0 && i % 2 == 0) noise.bytes -= noise.bytes % block;
    const auto stride = static_cast<std::int64_t>(random() >> random() % 64);
    KeyContent content;
    if (!read_key(key_of(noise, block, i % 3 == 0 ? -stride : stride), kUcxBytes, content)) continue;
    ++taken;
    transport::Span span;
    ASSERT_TRUE(span_of(content.memory, span));
    for (const std::uint64_t offset :
         {std::uint64_t{0}, content.memory.bytes - 1, random() % content.memory.bytes}) {
      const transport::Span run = run_at(content.memory, offset);
      ASSERT_GE(run.begin, span.begin);
      ASSERT_GT(run.bytes, 0u);
      ASSERT_LE(run.begin - span.begin + run.bytes, span.bytes);
    }
  }
  EXPECT_GT(taken, 1000) << "the noise is refused for a reason that says nothing";
}

}  // namespace
}  // namespace stria::uct
