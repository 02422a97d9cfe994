// What a sender concludes from the times of its stores, and what it does then.
#include "transport/shm/store_speed.hpp"

#include "tests/transport/shm/node.hpp"
#include "transport/shm/gather.hpp"

namespace stria::shm::test {
namespace {

constexpr std::uint32_t kBytes = 65536;
constexpr float kNear = 3.0F * kBytes / kLine, kFar = 30.0F * kBytes / kLine;

TEST(StoreSpeed, is_what_most_stores_of_a_row_say) {
  StoreSpeed speed;
  const auto now = StoreSpeed::Clock::now();
  EXPECT_FALSE(speed.is_slow());
  for (unsigned i = 0; i < 20 * Looks::kRow; ++i) speed.note(i % 2 == 0 ? kNear : kFar, kBytes, now);
  EXPECT_FALSE(speed.is_slow()) << "no majority";
  for (unsigned i = 0; i < 100; ++i) speed.note(1e6, kBytes, now);
  EXPECT_FALSE(speed.is_slow()) << "interruptions say nothing";
  for (unsigned i = 0; i < Looks::kRow; ++i) speed.note(i % 4 == 0 ? kNear : kFar, kBytes, now);
  EXPECT_TRUE(speed.is_slow()) << "some fast ones are no matter";
}

TEST(StoreSpeed, said_to_be_slow_stays_so) {
  StoreSpeed speed = StoreSpeed::always_slow();
  const auto now = StoreSpeed::Clock::now();
  for (unsigned i = 0; i < 20 * Looks::kRow; ++i) speed.note(kNear, kBytes, now);
  EXPECT_FALSE(speed.try_again(now + 2 * StoreSpeed::kTryAfter));
  EXPECT_TRUE(speed.is_slow());
}

// As measured, ns a line: near 512 B 10 to 25, 4 KiB 2 to 9; far 30 to 45 and 14 to 30.
TEST(StoreSpeed, asks_less_of_short_stores_whose_first_line_counts) {
  const auto is_slow = [](std::uint32_t bytes, float ns_per_line) {
    StoreSpeed speed;
    const float ns = ns_per_line * static_cast<float>(bytes) / kLine;
    for (unsigned i = 0; i < Looks::kRow; ++i) speed.note(ns, bytes, StoreSpeed::Clock::now());
    return speed.is_slow();
  };
  EXPECT_FALSE(is_slow(512, 25));
  EXPECT_TRUE(is_slow(512, 30));
  EXPECT_FALSE(is_slow(4096, 9));
  EXPECT_TRUE(is_slow(4096, 14));
}

TEST(StoreSpeed, is_tried_again_after_a_while) {
  StoreSpeed speed;
  const auto begin = StoreSpeed::Clock::now();
  for (int round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < Looks::kRow; ++i) speed.note(kFar, kBytes, begin);
    EXPECT_FALSE(speed.try_again(begin + StoreSpeed::kTryAfter - std::chrono::microseconds(1)));
    EXPECT_TRUE(speed.is_slow());
    EXPECT_TRUE(speed.try_again(begin + StoreSpeed::kTryAfter));
    EXPECT_FALSE(speed.is_slow());
  }
  for (unsigned i = 0; i < Looks::kRow; ++i) speed.note(kFar, kBytes, begin - StoreSpeed::kTryAfter);
  unsigned asked = 1;
  for (; speed.is_slow(); ++asked) ASSERT_LE(asked, Looks::kRow) << "it looks at the clock now and then";
  StoreSpeed always = StoreSpeed::always_slow();
  for (unsigned i = 0; i < 10 * Looks::kRow; ++i) EXPECT_TRUE(always.is_slow());
}

/// Stores that take 50 us for 64 KiB.
void store_slowly(StoreSpeed* speed) {
  const StoreSpeed::Timed timed(speed != nullptr && speed->is_due() ? speed : nullptr, kBytes);
  const auto end = StoreSpeed::Clock::now() + std::chrono::microseconds(50);
  while (StoreSpeed::Clock::now() < end) {
  }
}

TEST(StoreSpeed, is_learnt_from_stores_to_memory_that_is_not_new) {
  store_slowly(nullptr);
  StoreSpeed speed;
  for (unsigned i = 0; i < StoreSpeed::kFirst + Looks::kRow - 1; ++i) store_slowly(&speed);
  EXPECT_FALSE(speed.is_slow()) << "15 were timed";
  // One that was interrupted says nothing, and another is timed in its place.
  for (unsigned i = 0; i < 20 * Looks::kEvery && !speed.is_slow(); ++i) store_slowly(&speed);
  EXPECT_TRUE(speed.is_slow());
}

// Shorter ones go by cells, of which there are few here: the window takes those for which none is left.
TEST(StoreSpeed, short_messages_to_a_far_peer_arrive_intact_and_in_order) {
  for (const bool far : {false, true}) {
    const Settings settings = {{"STRIA_SHM_DISTANCE", far ? "far" : "near"}, {"STRIA_SHM_CELLS", "8"}};
    Node a(1, settings), b(2, settings);
    stria_link_t* link = a.connect(b);
    ASSERT_NE(link, nullptr) << a.error;
    const std::uint32_t most = a.limits(link).pio_max;
    ASSERT_GT(most, kPastLeast);
    constexpr std::uint64_t kMessages = 3000;
    std::uint64_t seen = 0, by_cells = 0;
    const auto bytes_of = [&](std::uint64_t i) { return static_cast<std::uint32_t>(i * 37 % (most + 1)); };
    b.on_deliver = [&](const Got& one) {
      EXPECT_EQ(one.header.tag, seen);
      EXPECT_EQ(one.payload, pattern(seen, bytes_of(seen))) << seen;
      EXPECT_FALSE(one.buffered) << "it was sent by PIO, whichever way it took";
      EXPECT_TRUE(!one.in_cell || bytes_of(seen) >= (far ? kPastLeast : kStreamLeast)) << seen;
      by_cells += one.in_cell ? 1 : 0;
      ++seen;
    };
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      const Bytes data = pattern(i, bytes_of(i));
      const stria_header_t head = header(i);
      const auto is_sent = [&] {
        return Node::ops().pio_send(link, &head, data.data(), bytes_of(i)) == STRIA_OK;
      };
      ASSERT_TRUE(until(is_sent, [&] { b.progress(); }));
    }
    ASSERT_TRUE(until([&] { return seen == kMessages; }, [&] { b.progress(); }));
    if (far) {
      EXPECT_GT(by_cells, 100u);
      EXPECT_LT(by_cells, kMessages / 2) << "there are 8 cells for what the window holds";
    }
  }
}

TEST(StoreSpeed, the_window_takes_short_messages_to_a_far_peer_when_no_cell_is_left) {
  const Settings settings = {{"STRIA_SHM_DISTANCE", "far"}, {"STRIA_SHM_CELLS", "8"}};
  Node a(1, settings), b(2, settings);
  stria_link_t* link = a.connect(b);
  ASSERT_NE(link, nullptr) << a.error;
  const Bytes data = pattern(1, 600);
  std::size_t sent = 0;
  while (a.eager(link, header(sent), data) == Status::ok) ++sent;  // the receiver stands still
  EXPECT_GT(sent, 8u) << "more than there are cells";
  ASSERT_TRUE(until([&] { return b.got.size() == sent; }, [&] { b.progress(); }));
  for (std::size_t i = 0; i < sent; ++i) {
    EXPECT_EQ(b.got[i].header.tag, i);
    EXPECT_EQ(b.got[i].payload, data);
  }
}

TEST(WayToStore, is_by_the_string_instruction_from_where_it_gains) {
  shm::Settings settings;
  settings.near_string_least = 12288;
  settings.far_string_least = 2048;
  StoreSpeed speed;
  std::vector<std::byte> memory(12288);
  const auto way = [&](std::uint32_t bytes, bool far) {
    return way_to_store({nullptr, memory.data(), bytes, 0, bytes}, far, settings, speed);
  };
  EXPECT_EQ(way(12287, false), Way::gather);
  EXPECT_EQ(way(12288, false), Way::string);
  EXPECT_EQ(way(2047, true), Way::stream);
  EXPECT_EQ(way(2048, true), Way::string);
  settings = {};
  EXPECT_EQ(way(12288, false), Way::gather);
  EXPECT_EQ(way(12288, true), Way::stream);
  settings.near_string_least = settings.far_string_least = 0;
  EXPECT_EQ(way(64, false), Way::string);
  EXPECT_EQ(way(64, true), Way::string);
  for (unsigned i = 0; i < Looks::kRow; ++i) speed.note(kFar, kBytes, StoreSpeed::Clock::now());
  EXPECT_EQ(way(12288, true), Way::string) << "slow or not: somebody said so";
  settings.near_string_least = settings.far_string_least = 2048;
  EXPECT_EQ(way(12288, true), Way::stream);
}

}  // namespace
}  // namespace stria::shm::test
