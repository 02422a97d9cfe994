// The keys of an operation: both come back as they were set, whatever their lengths, and blocks are used
// again.
#include "rndv/stored_key.hpp"

#include <gtest/gtest.h>

namespace stria::rndv {
namespace {

transport::Key key_of(std::uint32_t bytes, unsigned seed) {
  transport::Key key;
  key.bytes = bytes;
  for (std::uint32_t i = 0; i < bytes; ++i) key.data[i] = static_cast<std::uint8_t>(seed + 3 * i);
  return key;
}

bool same(const transport::Key& a, const transport::Key& b) {
  return a.bytes == b.bytes && std::memcmp(a.data, b.data, a.bytes) == 0;
}

TEST(StoredKey, holds_two_keys_of_any_length_in_few_blocks) {
  KeyPool pool;
  for (std::uint32_t first = 0; first <= STRIA_PROVIDER_KEY_MAX; ++first)
    for (std::uint32_t second = 0; second <= STRIA_PROVIDER_KEY_MAX; ++second) {
      StoredKey stored;
      ASSERT_EQ(stored.bytes(), 0u);
      const transport::Key senders = key_of(first, 11), receivers = key_of(second, 99);
      ASSERT_TRUE(stored.set(pool, senders));
      transport::Key read;
      stored.copy_to(read);
      ASSERT_TRUE(same(read, senders)) << first;
      for (int again = 0; again < 2; ++again) {
        ASSERT_TRUE(stored.set_sink_key(pool, receivers.data, receivers.bytes));
        ASSERT_TRUE(same(stored.sink_key(second), receivers)) << first << " and " << second;
        stored.copy_to(read);
        ASSERT_TRUE(same(read, senders)) << first << " and " << second;
      }
      ASSERT_EQ(stored.uses_block(), first + second > StoredKey::kInlineBytes);
      stored.clear(pool);
      ASSERT_EQ(stored.bytes(), 0u);
    }
  EXPECT_EQ(pool.size(), 1u) << "one operation at a time";
}

}  // namespace
}  // namespace stria::rndv
