// Messages longer than an ordinary buffer go without being asked for while one of the few long buffers is
// free, and are announced when none is.
#include <algorithm>
#include <deque>

#include "tests/tag/shm_pair.hpp"

namespace stria::test {
namespace {

class LongEager : public ShmPair {
 protected:
  explicit LongEager(const ShmTeam::Variables& variables = {{{"STRIA_SHM_DISTANCE", "near"}}})
      : ShmPair(variables) {
    // The first messages may send no more than the first grant.
    for (int i = 0; i < 40; ++i) goes_at_once(bytes_of(4000));
  }
  static unsigned char byte_of(std::size_t i) { return static_cast<unsigned char>(i * 13 + (i >> 8)); }
  static std::vector<unsigned char> bytes_of(std::size_t bytes) {
    std::vector<unsigned char> out(bytes);
    for (std::size_t i = 0; i < bytes; ++i) out[i] = byte_of(i);
    return out;
  }
  template <class Done>
  void both_until(Done done) {
    for (int i = 0; i < 100000 && !done(); ++i) team_.progress(0, 1), team_.progress(1, 1);
    ASSERT_TRUE(done());
  }
  /// Sends it, or one instance of the layout, while nobody receives yet: whether it was gone at once.
  bool goes_at_once(const std::vector<unsigned char>& data, stria_layout_t* layout = nullptr) {
    Op sending, receiving;
    EXPECT_GE(send(sending, data, layout, 1), STRIA_OK);
    const bool gone = sending.answer == STRIA_OK;
    std::vector<unsigned char> room(data.size());
    EXPECT_GE(recv(receiving, room), STRIA_OK);
    both_until([&] { return sending.ended() && receiving.ended(); });
    if (layout == nullptr) {
      EXPECT_EQ(room, data);
    }
    return gone;
  }
};

TEST_F(LongEager, goes_at_once_up_to_the_long_buffer_and_not_beyond) {
  for (const std::size_t bytes : {32768u, 32769u, 65536u, 131072u, 131073u, 262143u, 262144u})
    EXPECT_TRUE(goes_at_once(bytes_of(bytes))) << bytes;
  for (const std::size_t bytes : {262145u, 400000u}) EXPECT_FALSE(goes_at_once(bytes_of(bytes))) << bytes;
}

class FarLongEager : public LongEager, public testing::WithParamInterface<const char*> {
 protected:
  FarLongEager() : LongEager({{{"STRIA_SHM_DISTANCE", "far"}}, {{"STRIA_RNDV_FLOWS", GetParam()}}}) {}
};

TEST_P(FarLongEager,
       half_as_much_goes_at_once_to_a_far_peer_where_each_side_copies_a_half_of_what_is_longer) {
  const bool flows = std::string(GetParam()) == "on";
  EXPECT_TRUE(goes_at_once(bytes_of(131072)));
  EXPECT_EQ(goes_at_once(bytes_of(131073)), flows);
  EXPECT_EQ(goes_at_once(bytes_of(262144)), flows);
}

INSTANTIATE_TEST_SUITE_P(Flows, FarLongEager, testing::Values("on", "off"),
                         [](const auto& param) { return std::string(param.param); });

TEST_F(LongEager, is_announced_where_very_many_short_blocks_are_packed) {
  stria_layout_t* byte = nullptr;
  ASSERT_EQ(stria_layout_bytes(1, &byte), STRIA_OK);
  const auto goes = [&](std::int64_t rows, std::int64_t bytes, std::int64_t apart = 2) {
    stria_layout_t* layout = nullptr;
    EXPECT_EQ(stria_layout_vector(rows, bytes, apart * bytes, byte, &layout), STRIA_OK);
    const bool gone = goes_at_once(bytes_of(static_cast<std::size_t>(apart * rows * bytes)), layout);
    stria_layout_free(layout);
    return gone;
  };
  EXPECT_TRUE(goes(64, 512));
  EXPECT_TRUE(goes(65, 512)) << "it is unpacked meanwhile";
  EXPECT_TRUE(goes(16384, 8));
  EXPECT_FALSE(goes(16385, 7));
  EXPECT_TRUE(goes(2048, 8, 40));
  EXPECT_FALSE(goes(2049, 8, 40)) << "each is a line of its own";
  EXPECT_TRUE(goes(256, 512));
  EXPECT_FALSE(goes(257, 512)) << "packing it takes long";
  EXPECT_TRUE(goes(256, 1024)) << "blocks that are copied by pieces";
  EXPECT_FALSE(goes(257, 1024));
  stria_layout_free(byte);
}

TEST_F(LongEager, does_not_wait_for_a_long_buffer_and_keeps_the_order) {
  constexpr std::size_t kMessages = 40, kBytes = 50000;
  std::deque<Op> sending(kMessages), receiving(kMessages);
  std::deque<std::vector<unsigned char>> sent;
  std::size_t gone = 0;
  for (std::size_t i = 0; i < kMessages; ++i) {
    ASSERT_GE(send(sending[i], sent.emplace_back(bytes_of(kBytes + i))), STRIA_OK);
    gone += sending[i].answer == STRIA_OK ? 1 : 0;
  }
  EXPECT_GT(gone, 4u);
  EXPECT_LT(gone, 17u) << "there are 16 long buffers";
  std::deque<std::vector<unsigned char>> rooms;
  for (Op& op : receiving) ASSERT_GE(recv(op, rooms.emplace_back(kBytes + kMessages)), STRIA_OK);
  both_until([&] {
    const auto over = [](Op& op) { return op.ended(); };
    return std::all_of(sending.begin(), sending.end(), over) &&
           std::all_of(receiving.begin(), receiving.end(), over);
  });
  for (std::size_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(receiving[i].info.length, kBytes + i) << "out of order";
    ASSERT_TRUE(std::equal(sent[i].begin(), sent[i].end(), rooms[i].begin())) << i;
  }
}

}  // namespace
}  // namespace stria::test
