// Cells that are written past the caches hold the same bytes; and what a receiver concludes from its times.
#include "transport/shm/distance.hpp"

#include <array>
#include <random>

#include "tests/transport/shm/node.hpp"
#include "transport/payload.hpp"

namespace stria::shm::test {
namespace {

TEST(Distance, is_what_most_cells_of_a_row_say) {
  Distance distance;
  for (int i = 0; i < 300; ++i) EXPECT_FALSE(distance.note(i % 2 == 0 ? 3.0F : 19.0F)) << "no majority";
  while (!distance.note(19)) {
  }
  Distance other;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(other.note(500)) << "interruptions say nothing";
  unsigned notes = 1;
  for (; !other.note(notes % 8 == 0 ? 3.0F : 19.0F); ++notes) ASSERT_LE(notes, Looks::kRow);
  EXPECT_TRUE(other.is_far()) << "some fast ones are no matter";
}

TEST(Distance, is_tried_again_after_a_while_and_not_by_cells_under_way) {
  Distance distance;
  alignas(64) const std::array<std::byte, kLookBytes> cell{};
  auto now = Distance::Clock::now();
  auto wait = Distance::kTryAfter;
  for (int round = 0; round < 8; ++round, wait = std::min(2 * wait, Distance::kTryAtLast)) {
    int notes = 1;
    while (!distance.note(19)) ASSERT_LT(++notes, 40);
    ASSERT_TRUE(distance.is_far());
    EXPECT_FALSE(distance.try_again(now, 10)) << "begins now";
    EXPECT_FALSE(distance.try_again(now += wait - std::chrono::microseconds(1), 10)) << round;
    EXPECT_TRUE(distance.try_again(now += std::chrono::microseconds(1), 10)) << round;
    EXPECT_FALSE(distance.is_far());
    for (int i = 0; i < 10; ++i)
      EXPECT_FALSE(distance.came(cell.data(), kLookBytes, 10)) << "under way, says nothing";
  }
  for (unsigned i = 0; i < Looks::kRow; ++i) EXPECT_FALSE(distance.note(3)) << "near after all";
  while (!distance.note(19)) {
  }
  EXPECT_FALSE(distance.try_again(now, 10));
  EXPECT_TRUE(distance.try_again(now + Distance::kTryAfter, 10)) << "the while begins anew";
}

TEST(Distance, looks_into_the_middle_of_a_cell_and_not_beyond_it) {
  for (std::uint32_t bytes = kLookBytes; bytes <= 65536; ++bytes) {
    const std::uint32_t at = Distance::look_at(bytes);
    ASSERT_LE(at + kLookBytes, bytes);
    ASSERT_LE(at, bytes / 2);
    ASSERT_LT(bytes / 2 - at, kLookBytes);
    ASSERT_EQ(at % kLookBytes, 0u);
  }
}

TEST(Distance, a_far_peer_is_tried_again_by_its_cells) {
  Distance distance;
  alignas(64) const std::array<std::byte, kLookBytes> cell{};
  while (!distance.note(19)) {
  }
  const auto end = Distance::Clock::now() + std::chrono::seconds(10);
  while (!distance.came(cell.data(), kLookBytes, 10)) ASSERT_LT(Distance::Clock::now(), end);
  EXPECT_FALSE(distance.is_far());
}

/// Random payloads, contiguous at any address and in blocks, through cells to a device that says `distance`.
void cells_arrive_intact(const char* distance, const char* cell_bytes) {
  SCOPED_TRACE(std::string(distance) + ", cells of " + cell_bytes);
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const Settings settings = {
      {"STRIA_SHM_DISTANCE", distance}, {"STRIA_SHM_CELL_BYTES", cell_bytes}, {"STRIA_SHM_CELLS", "40"}};
  Node a(1, settings), b(2, settings);
  ASSERT_EQ(a.opened, Status::ok) << a.error;
  stria_link_t* link = a.connect(b);
  ASSERT_NE(link, nullptr) << a.error;
  b.progress();  // it sees us, and says how far we are
  std::mt19937 random(seed);
  const std::uint32_t most = a.limits(link).eager_max;
  const Bytes memory = pattern(seed, 8 * most);
  for (unsigned i = 0; i < 2000; ++i) {
    const std::uint32_t bytes = 2000 + random() % (most - 2000 + 1);
    const std::int64_t block = 1 + random() % 200, gap = random() % 100;
    const auto blocks = static_cast<std::int64_t>(bytes) / block + 1;
    const auto layout = *datatype::Layout::strided(blocks, block + gap, datatype::Layout::bytes(block));
    stria_payload_t payload{nullptr, const_cast<std::byte*>(memory.data()) + random() % 100, most, 0, bytes};
    if (random() % 2 != 0 && layout.true_extent() < static_cast<std::int64_t>(7 * most)) {
      payload.layout = &layout;
      payload.count = 1;
      payload.offset =
          static_cast<std::int64_t>(random() % (static_cast<std::uint64_t>(layout.size()) - bytes + 1));
    }
    Bytes expected(bytes);
    transport::pack(payload, expected.data());
    const stria_header_t head = header(i);
    ASSERT_EQ(Node::ops().eager_send(link, &head, &payload), STRIA_OK);
    ASSERT_TRUE(until([&] { return !b.got.empty(); }, [&] { b.progress(); }));
    ASSERT_EQ(b.got.front().header.tag, i);
    ASSERT_EQ(b.got.front().payload, expected) << "packet " << i << ", " << bytes << " bytes";
    b.got.clear();
  }
}
TEST(Distance, cells_of_near_peers_arrive_intact) {
  cells_arrive_intact("near", "32K");
}
TEST(Distance, cells_of_far_peers_arrive_intact) {
  cells_arrive_intact("far", "32K");
}
TEST(Distance, odd_cells_of_far_peers_arrive_intact) {
  cells_arrive_intact("far", "4160");
}
TEST(Distance, cells_arrive_intact_while_it_is_learnt) {
  cells_arrive_intact("auto", "16K");
}

}  // namespace
}  // namespace stria::shm::test
