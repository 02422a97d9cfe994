// A process has some hundred names for the layouts of its keys. When live keys hold all of them, a message
// that would need one more goes another way, and a region does without a key: slower, and right to the byte.
#include <cstring>

#include "tests/tag/shm_pair.hpp"

namespace stria::test {
namespace {

constexpr std::size_t kNames = 511;
constexpr std::int64_t kRows = 64, kRowBytes = 5000, kSentPitch = 7000, kRoomPitch = 6000;
constexpr std::size_t kBytes = kRows * kRowBytes;
constexpr unsigned char kGap = 0xee;

stria_layout_t* rows(std::int64_t count, std::int64_t bytes, std::int64_t pitch) {
  stria_layout_t *byte = nullptr, *out = nullptr;
  EXPECT_EQ(stria_layout_bytes(1, &byte), STRIA_OK);
  EXPECT_EQ(stria_layout_vector(count, bytes, pitch, byte, &out), STRIA_OK) << stria_last_error();
  stria_layout_free(byte);
  return out;
}

/// Set before contexts are opened.
struct Scheme {
  explicit Scheme(const char* scheme) {
    EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", scheme, "test"), STRIA_OK);
  }
  ~Scheme() { EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "auto", "test"), STRIA_OK); }
};

class NamesOut : Scheme, public ShmPair {
 protected:
  NamesOut() : Scheme("get") {}
  ~NamesOut() override { release(); }

  /// Keys of as many layouts as there are names, which live until release().
  void take_all_names(unsigned rank) {
    for (std::size_t i = 0; i < kNames; ++i) {
      stria_layout_t* layout = rows(3, 8, 16 + static_cast<std::int64_t>(i));
      regions_.push_back(region(rank, held_, layout, STRIA_ACCESS_REMOTE_READ));
      stria_layout_free(layout);  // the region keeps its own reference
    }
  }
  void release() {
    for (stria_region_t* region : regions_) EXPECT_EQ(stria_region_deregister(region), STRIA_OK);
    regions_.clear();
  }
  stria_region_t* region(unsigned rank, std::vector<unsigned char>& memory, stria_layout_t* layout,
                         unsigned access) {
    stria_region_t* out = nullptr;
    EXPECT_EQ(stria_region_register(team_.worker(rank), memory.data(), layout, 1, access, &out), STRIA_OK)
        << stria_last_error();
    return out;
  }
  stria_counters_t counters() {
    stria_counters_t out{};
    out.size = sizeof(out);
    EXPECT_EQ(stria_worker_counters(team_.worker(1), &out), STRIA_OK);
    return out;
  }
  bool finish(const Op& op) {
    for (int i = 0; i < 100000 && op.callbacks == 0; ++i) {
      team_.progress(0, 1);
      team_.progress(1, 1);
    }
    return op.callbacks == 1;
  }
  /// Rows to rows of another pitch; every byte of the room is looked at. How many went by a key.
  std::uint64_t exchange(unsigned char seed) {
    const auto by_key = [&] { return counters().received_get; };
    const std::uint64_t before = by_key();
    stria_layout_t *sent = rows(kRows, kRowBytes, kSentPitch), *got = rows(kRows, kRowBytes, kRoomPitch);
    std::vector<unsigned char> data(kRows * kSentPitch), room(kRows * kRoomPitch, kGap), wanted = room;
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<unsigned char>(seed + i * 7 + i / 251);
    for (std::size_t row = 0; row < kRows; ++row)
      std::memcpy(&wanted[row * kRoomPitch], &data[row * kSentPitch], kRowBytes);
    Op send_op, recv_op;
    stria_recv_t recv{};
    recv.base = room.data();
    recv.layout = got;
    recv.count = 1;
    recv.match = {from_, kTag, 0};
    recv.callback = &Op::on_done;
    recv.user = &recv_op;
    EXPECT_EQ(stria_recv(team_.worker(1), &recv, &recv_op.request), STRIA_IN_PROGRESS);
    EXPECT_EQ(send(send_op, data, sent, 1), STRIA_IN_PROGRESS);
    EXPECT_TRUE(finish(recv_op));
    EXPECT_TRUE(finish(send_op));
    EXPECT_EQ(recv_op.info.status, STRIA_OK);
    EXPECT_EQ(recv_op.info.length, kBytes);
    EXPECT_TRUE(room == wanted) << "wrong bytes";
    stria_layout_free(sent);
    stria_layout_free(got);
    return by_key() - before;
  }

  std::vector<unsigned char> held_ = std::vector<unsigned char>(4096);
  std::vector<stria_region_t*> regions_;
};

TEST_F(NamesOut, of_the_sender_its_messages_go_without_a_key_until_there_are_names_again) {
  ASSERT_EQ(exchange(1), 1u) << "the path that needs a name is taken";
  take_all_names(0);
  for (unsigned char i = 2; i < 5; ++i) EXPECT_EQ(exchange(i), 0u);
  EXPECT_EQ(counters().received_pipeline, 3u);
  release();
  EXPECT_EQ(exchange(5), 1u);
}

TEST_F(NamesOut, of_the_receiver_its_messages_are_read_all_the_same) {
  take_all_names(1);
  for (unsigned char i = 1; i < 4; ++i) EXPECT_EQ(exchange(i), 1u);
  EXPECT_EQ(counters().received_get, 3u);
  release();
  EXPECT_EQ(exchange(4), 1u);
}

TEST_F(NamesOut, of_both_messages_arrive_right) {
  take_all_names(0);
  take_all_names(1);
  EXPECT_EQ(exchange(1), 0u);
  release();
  EXPECT_EQ(exchange(2), 1u);
}

TEST_F(NamesOut, a_region_without_a_key_is_served_by_its_owner) {
  take_all_names(0);
  std::vector<unsigned char> memory(kRows * kSentPitch), got(kBytes), wanted;
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<unsigned char>(i * 7 + i / 251);
  for (auto row = memory.begin(); row < memory.end(); row += kSentPitch)
    wanted.insert(wanted.end(), row, row + kRowBytes);
  stria_layout_t* layout = rows(kRows, kRowBytes, kSentPitch);
  regions_.push_back(region(0, memory, layout, STRIA_ACCESS_REMOTE_READ));
  stria_layout_free(layout);
  char packed[STRIA_KEY_MAX];
  std::size_t bytes = sizeof(packed);
  ASSERT_EQ(stria_region_key(regions_.back(), packed, &bytes), STRIA_OK);
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(from_, packed, bytes, &key), STRIA_OK) << stria_last_error();
  Op op;
  stria_rma_t get{};
  get.base = got.data();
  get.count = got.size();
  get.key = key;
  get.callback = &Op::on_done;
  get.user = &op;
  EXPECT_EQ(stria_get(from_, &get, &op.request), STRIA_IN_PROGRESS) << "the owner has to do it";
  EXPECT_TRUE(finish(op));
  EXPECT_EQ(op.info.status, STRIA_OK);
  EXPECT_TRUE(got == wanted) << "wrong bytes";
  stria_key_close(key);
}

}  // namespace
}  // namespace stria::test
