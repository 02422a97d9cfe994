// Cells that are read while they are written: what is said of them is there, and never more.
#include "transport/shm/growing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "transport/shm/cell_plan.hpp"

namespace stria::shm {
namespace {

using Bytes = std::vector<std::byte>;
using transport::Arrival;

constexpr std::uint32_t kBytes = 49152;

Bytes pattern(std::uint32_t seed, std::size_t bytes = kBytes) {
  Bytes out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 256 + seed);
  return out;
}
transport::Payload contiguous(Bytes& memory, std::size_t bytes) {
  const auto length = static_cast<std::int64_t>(bytes);
  return {nullptr, memory.data(), length, 0, length};
}

class GrowingCell : public testing::Test {
 protected:
  Growing growing(std::uint32_t bytes, std::uint32_t use = 1, std::uint32_t step = kFirstStep) {
    return {{&header, cell.data(), bytes, 0, 0}, {&word, use, step}, is_over};
  }
  template <class Publish>
  void write(Bytes& memory, std::uint32_t bytes, std::uint32_t use, Publish publish) {
    const Way way = use % 2 == 0 ? Way::string : Way::gather;
    const Growth growth{&word, use, kFirstStep};
    grow(contiguous(memory, bytes), cell.data(), growth, way, publish);
  }
  /// However slow the thread is that writes it.
  static void take_all(const transport::Payload& memory, const Growing& one) {
    Arrival came = Arrival::later;
    while (came == Arrival::later) came = transport::take(memory, one.packet());
    ASSERT_EQ(came, Arrival::whole);
  }
  stria_header_t header{};
  Bytes cell = Bytes(kBytes);
  std::atomic<std::uint64_t> word{0};
  bool is_over = false;  // the sender is gone
};

TEST_F(GrowingCell, is_published_once_with_its_first_step_and_is_whole_in_the_end) {
  std::uint32_t use = 0;
  for (const std::uint32_t bytes :
       {kGrowLeast, kGrowLeast + 1, 5000u, 8191u, 8192u, 8193u, 16383u, 16384u, 16385u, kBytes - 1, kBytes}) {
    Bytes memory = pattern(bytes);
    std::fill(cell.begin(), cell.end(), std::byte{0});
    int calls = 0;
    ++use;
    write(memory, bytes, use, [&] {
      ++calls;
      const std::uint32_t there = growing(bytes, use).wait(1);  // of the record, not of the word
      EXPECT_GT(there, 0u);
      EXPECT_LT(there, bytes) << "the receiver would wait for all of it";
      EXPECT_TRUE(std::equal(memory.begin(), memory.begin() + there, cell.begin()));
      EXPECT_EQ(grown_bytes(word.load(), use), 0u) << "no line may change hands before the record";
    });
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(growing(bytes, use).wait(bytes), bytes);
    EXPECT_TRUE(std::equal(memory.begin(), memory.begin() + bytes, cell.begin()));
  }
}

TEST_F(GrowingCell, says_what_is_there_and_never_more_than_the_packet_has) {
  const Growing one = growing(5000, 3);
  word.store(growth_of(3, 4500));
  EXPECT_EQ(one.wait(1), 4096u);
  EXPECT_EQ(one.wait(4096), 4096u);
  EXPECT_EQ(one.wait(4097), 4500u);
  word.store(growth_of(3, 0xffffffff));  // whatever a peer writes
  EXPECT_EQ(one.wait(4501), 5000u);
}

TEST_F(GrowingCell, does_not_believe_a_word_of_another_use) {
  is_over = true;
  for (const std::uint64_t other : {growth_of(2, 5000), growth_of(4, 5000), growth_of(0, 5000)}) {
    word.store(other);
    EXPECT_EQ(growing(5000, 3).wait(5000), 0u);
  }
  word.store(growth_of(3, 5000));
  EXPECT_EQ(growing(5000, 3).wait(5000), 5000u);
}

TEST_F(GrowingCell, whose_sender_is_gone_comes_no_more_but_what_came_counts) {
  is_over = true;
  const Growing one = growing(5000);
  word.store(growth_of(1, 4800));
  EXPECT_EQ(one.wait(4800), 4800u);
  EXPECT_EQ(one.wait(4801), 0u);
  EXPECT_TRUE(one.is_done());
  Bytes memory(5000);
  EXPECT_EQ(transport::take(contiguous(memory, 5000), one.packet()), Arrival::never);
  EXPECT_EQ(transport::arrival(one.packet()), Arrival::never);
  EXPECT_EQ(transport::take(contiguous(memory, 4000), one.packet()), Arrival::whole)
      << "no more is asked for";
}

TEST_F(GrowingCell, whose_sender_stands_still_comes_later_and_nobody_waits_for_it) {
  Bytes memory(5000);
  for (const std::uint32_t there : {0u, 4800u}) {  // the word is written for the second step first
    const Growing one = growing(5000);
    word.store(growth_of(1, there));
    EXPECT_EQ(one.wait(4900), std::max(there, kFirstStep));
    EXPECT_FALSE(one.is_done());
    EXPECT_EQ(transport::take(contiguous(memory, 5000), one.packet()), Arrival::later);
    EXPECT_EQ(transport::arrival(one.packet()), Arrival::later);
    EXPECT_EQ(wait_grown(word, 1, 5000, 5000), there);
  }
  word.store(growth_of(1, 5000));
  EXPECT_TRUE(growing(5000).is_done());
  EXPECT_EQ(transport::take(contiguous(memory, 5000), growing(5000).packet()), Arrival::whole);
}

// Out of blocks and into others, by pieces that end in the midst of them.
class GrowingBlocks : public GrowingCell {
 protected:
  datatype::Layout blocks(std::int64_t least, std::int64_t most) {
    const std::int64_t bytes = least + static_cast<std::int64_t>(random()) % (most - least + 1);
    const std::int64_t gap = 1 + static_cast<std::int64_t>(random() % 400);
    return datatype::Layout::vector(kBytes / bytes + 1, bytes, bytes + gap, datatype::Layout::bytes(1))
        .value();
  }
  /// Sends one in steps of some length, and compares what came with what pack and unpack make of it.
  void move(const datatype::Layout& from, const datatype::Layout& to, std::uint32_t bytes, Way way) {
    const std::uint32_t step = random_step(bytes);
    ++use;
    const Bytes memory = pattern(use, static_cast<std::size_t>(from.true_extent()));
    Bytes expected(kBytes), room(static_cast<std::size_t>(to.true_extent()), std::byte{0xee}), wanted = room;
    transport::Payload source{&from, const_cast<std::byte*>(memory.data()), 1, 0, bytes};
    transport::Payload sink{&to, room.data(), 1, 0, bytes}, check{&to, wanted.data(), 1, 0, bytes};
    transport::pack(source, expected.data());
    transport::unpack(check, expected.data());
    std::atomic<bool> published{false};
    const Growth growth{&word, use, step};
    std::thread writer([&] { grow(source, cell.data(), growth, way, [&] { published.store(true); }); });
    while (!published.load()) std::this_thread::yield();
    take_all(sink, growing(bytes, use, step));
    writer.join();
    ASSERT_EQ(room, wanted) << "use " << use << ", seed " << kSeed;
    ASSERT_TRUE(std::equal(expected.begin(), expected.begin() + bytes, cell.begin())) << use;
  }
  /// Whole lines, fewer than the payload has: any, not only what plan_cell() chooses.
  std::uint32_t random_step(std::uint32_t bytes) {
    return static_cast<std::uint32_t>(1 + random() % std::min(kFarStep / kLine, (bytes - 1) / kLine)) * kLine;
  }
  static constexpr unsigned kSeed = 3;
  std::mt19937 random{kSeed};
  std::uint32_t use = 0;
};

TEST_F(GrowingBlocks, that_are_long_are_taken_in_every_way_and_given_to_others) {
  const Way ways[] = {Way::gather, Way::nontemporal, Way::string};
  for (std::uint32_t round = 1; round <= 600; ++round)
    move(blocks(round % 3 == 0 ? 1000 : 4000, 20000), blocks(round % 2 == 0 ? 900 : 5000, 30000),
         kGrowLeast + random() % (kBytes - kGrowLeast + 1), ways[round / 3 % 3]);
}

TEST_F(GrowingBlocks, that_are_short_are_unpacked_while_they_are_packed) {
  for (std::uint32_t round = 1; round <= 600; ++round)
    move(blocks(1, round % 3 == 0 ? 16 : 200), blocks(1, round % 2 == 0 ? 12 : 9000),
         kPackingLeast + random() % (kBytes - kPackingLeast + 1),
         round % 5 == 0 ? Way::nontemporal : Way::gather);
}

TEST_F(GrowingBlocks, that_are_short_are_unpacked_as_far_as_they_came) {
  constexpr std::uint32_t kAll = 8000, kStep = kAll / 2 / kLine * kLine;
  const auto to = datatype::Layout::vector(kAll / 8, 8, 16, datatype::Layout::bytes(1)).value();
  cell = pattern(1);
  is_over = true;
  Bytes room(2 * kAll, std::byte{0xee});
  const transport::Payload sink{&to, room.data(), 1, 0, kAll};
  EXPECT_EQ(transport::take(sink, growing(kAll, 1, kStep).packet()), Arrival::never);
  for (std::uint32_t i = 0; i < kAll; ++i)
    ASSERT_EQ(room[i / 8 * 16 + i % 8], i < kStep ? cell[i] : std::byte{0xee}) << "byte " << i;
}

TEST_F(GrowingCell, is_copied_right_while_another_thread_writes_it) {
  Bytes got(kBytes);
  for (std::uint32_t round = 1; round <= 2000; ++round) {
    Bytes memory = pattern(round);
    std::atomic<bool> published{false};
    std::thread writer([&] { write(memory, kBytes, round, [&] { published.store(true); }); });
    while (!published.load()) std::this_thread::yield();
    const std::uint32_t bytes = round % 3 == 0 ? 7000 : kBytes;  // some receives are shorter
    take_all(contiguous(got, bytes), growing(kBytes, round));
    ASSERT_TRUE(std::equal(got.begin(), got.begin() + bytes, memory.begin())) << "round " << round;
    writer.join();
  }
}

}  // namespace
}  // namespace stria::shm
