// Bytes that wait: what is dropped makes room, and an idle queue has no memory.
#include "transport/tcp/byte_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace stria::tcp {
namespace {

TEST(TcpByteQueue, gives_back_what_was_added_in_its_order_whatever_the_pieces) {
  BufferPool pool(1000);
  ByteQueue queue(pool);
  std::deque<std::byte> oracle;
  std::mt19937 random(20231);
  for (int i = 0; i < 20000; ++i) {
    const std::size_t wanted = random() % 300 + 1;
    const std::span<std::byte> room = queue.room(wanted);
    EXPECT_EQ(room.empty(), 1000 - oracle.size() < wanted);
    if (!room.empty()) {
      for (std::size_t k = 0; k < wanted; ++k) {
        room[k] = static_cast<std::byte>(random());
        oracle.push_back(room[k]);
      }
      queue.added(wanted);
    }
    ASSERT_EQ(queue.held().size(), oracle.size());
    ASSERT_TRUE(std::equal(oracle.begin(), oracle.end(), queue.held().begin()));
    const std::size_t gone = oracle.empty() ? 0 : random() % (oracle.size() + 1);
    oracle.erase(oracle.begin(), oracle.begin() + static_cast<std::ptrdiff_t>(gone));
    queue.drop(gone);
  }
}

TEST(TcpByteQueue, lends_its_memory_while_there_is_something_in_it) {
  BufferPool pool(64);
  ByteQueue one(pool), other(pool);
  const std::byte* const memory = one.room(10).data();
  one.settle();  // nothing was added
  EXPECT_EQ(other.room(10).data(), memory) << "the same memory serves the next queue";
  other.added(10);
  EXPECT_NE(one.room(10).data(), memory);
  other.drop(10);
  EXPECT_TRUE(other.is_empty());
}

}  // namespace
}  // namespace stria::tcp
