// Cells that are read while they are written: what is said of them is there, and never more.
#include "transport/shm/growing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace stria::shm {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kBytes = 32768;

Bytes pattern(std::uint32_t seed) {
  Bytes out(kBytes);
  for (std::uint32_t i = 0; i < kBytes; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 256 + seed);
  return out;
}
transport::Payload contiguous(Bytes& memory, std::size_t bytes) {
  const auto length = static_cast<std::int64_t>(bytes);
  return {nullptr, memory.data(), length, 0, length};
}

class GrowingCell : public testing::Test {
 protected:
  GrowingCell() {
    sender.same_process = true;
    sender.nonce = 77;
    register_device(sender.nonce, -1, 0);
  }
  ~GrowingCell() override { unregister_device(sender.nonce); }
  Growing growing(std::uint32_t bytes) { return {header, cell.data(), bytes, word, sender}; }
  stria_header_t header{};
  Bytes cell = Bytes(kBytes);
  std::atomic<std::uint32_t> word{0};
  Attached sender;  // a device of this process
};

TEST_F(GrowingCell, is_published_once_with_its_first_bytes_and_is_whole_in_the_end) {
  for (const std::uint32_t bytes :
       {kGrowLeast, kGrowLeast + 1, 5000u, 6143u, 6144u, 6145u, kBytes - 1, kBytes}) {
    Bytes memory = pattern(bytes);
    std::fill(cell.begin(), cell.end(), std::byte{0});
    int calls = 0;
    grow(contiguous(memory, bytes), cell.data(), word, [&] {
      ++calls;
      const std::uint32_t there = word.load();
      EXPECT_GT(there, 0u);
      EXPECT_LT(there, bytes) << "the receiver would wait for all of it";
      EXPECT_TRUE(std::equal(memory.begin(), memory.begin() + there, cell.begin()));
    });
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(word.load(), bytes);
    EXPECT_TRUE(std::equal(memory.begin(), memory.begin() + bytes, cell.begin()));
  }
}

TEST_F(GrowingCell, says_what_is_there_and_never_more_than_the_packet_has) {
  const Growing one = growing(5000);
  word.store(2048);
  EXPECT_EQ(one.wait(1), 2048u);
  EXPECT_EQ(one.wait(2048), 2048u);
  word.store(0xffffffff);  // whatever a peer writes
  EXPECT_EQ(one.wait(2049), 5000u);
}

TEST_F(GrowingCell, ends_the_wait_when_its_sender_is_gone_but_what_came_counts) {
  unregister_device(sender.nonce);
  const Growing one = growing(5000);
  word.store(2048);
  EXPECT_EQ(one.wait(2048), 2048u);
  EXPECT_EQ(one.wait(2049), 0u);
  Bytes memory(5000);
  EXPECT_FALSE(transport::take(contiguous(memory, 5000), one.packet()));
  EXPECT_FALSE(transport::is_whole(one.packet()));
  EXPECT_TRUE(transport::take(contiguous(memory, 2000), one.packet())) << "no more is asked for";
}

TEST_F(GrowingCell, is_copied_right_while_another_thread_writes_it) {
  Bytes got(kBytes);
  for (std::uint32_t round = 0; round < 2000; ++round) {
    Bytes memory = pattern(round);
    word.store(0);
    std::atomic<bool> published{false};
    std::thread writer(
        [&] { grow(contiguous(memory, kBytes), cell.data(), word, [&] { published.store(true); }); });
    while (!published.load()) std::this_thread::yield();
    const std::uint32_t bytes = round % 3 == 0 ? 7000 : kBytes;  // some receives are shorter
    ASSERT_TRUE(transport::take(contiguous(got, bytes), growing(kBytes).packet()));
    ASSERT_TRUE(std::equal(got.begin(), got.begin() + bytes, memory.begin())) << "round " << round;
    writer.join();
  }
}

}  // namespace
}  // namespace stria::shm
