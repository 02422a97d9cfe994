// Short messages to near and to far peers, which take the window or cells, arrive whichever way they are
// stored.
#include "tests/transport/shm/node.hpp"
#include "transport/shm/burst.hpp"
#include "transport/shm/settings.hpp"

namespace stria::shm::test {
namespace {

// Shorter ones go by cells, of which there are few here: the window takes those for which none is left.
TEST(WayToStore, short_messages_to_a_far_peer_arrive_intact_and_in_order) {
  for (const bool far : {false, true}) {
    const Settings settings = {{"STRIA_SHM_DISTANCE", far ? "far" : "near"}, {"STRIA_SHM_CELLS", "8"}};
    Node a(1, settings), b(2, settings);
    stria_link_t* link = a.connect(b);
    ASSERT_NE(link, nullptr) << a.error;
    const std::uint32_t most = a.limits(link).pio_max;
    ASSERT_GT(most, kFarNontemporalLeast);
    constexpr std::uint64_t kMessages = 3000;
    std::uint64_t seen = 0, by_cells = 0;
    const auto bytes_of = [&](std::uint64_t i) { return static_cast<std::uint32_t>(i * 37 % (most + 1)); };
    b.on_deliver = [&](const Got& one) {
      EXPECT_EQ(one.header.tag, seen);
      EXPECT_EQ(one.payload, pattern(seen, bytes_of(seen))) << seen;
      EXPECT_FALSE(one.buffered) << "it was sent by PIO, whichever way it took";
      EXPECT_TRUE(!one.in_cell || bytes_of(seen) >= (far ? kFarNontemporalLeast : kBurstLeast)) << seen;
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

TEST(WayToStore, the_window_takes_short_messages_to_a_far_peer_when_no_cell_is_left) {
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

}  // namespace
}  // namespace stria::shm::test
