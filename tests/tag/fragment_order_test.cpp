// Fragments of one link that overtake each other, come twice, get lost, or say that they belong where they do
// not: a receive that completes is right to the byte, whatever way its message goes, and any other ends with
// an error. The fabric does that to the fragments; every choice is drawn from the seed.
#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "tests/rounds.hpp"
#include "tests/tag/random_world.hpp"
#include "transport/wire.hpp"

namespace stria::test {
namespace {

using Bytes = std::vector<unsigned char>;

/// What is forced: with patience 0 a receiver reads from the end of the message whenever it can.
std::vector<std::array<std::string, 2>> configured(const char* scheme) {
  return {{{"STRIA_RNDV_SCHEME", scheme}},
          {{"STRIA_RNDV_PATIENCE", "0"}},
          {{"STRIA_EAGER_LIMIT", "4K"}},
          {{"STRIA_RNDV_FRAGMENT", "4K"}}};
}

class FragmentOrder : public testing::Test {
 protected:
  ~FragmentOrder() override {
    EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "auto", "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_RNDV_PATIENCE", "5", "test"), STRIA_OK);
  }
};

TEST_F(FragmentOrder, is_free_by_every_scheme_into_columns_and_into_receives_that_are_too_short) {
  std::uint64_t overtakes = 0;
  for (unsigned seed = 1; seed <= rounds(300); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    fake::FabricOptions options = random_fabric(seed, random);
    options.get = random() % 4 != 0;
    options.put = random() % 4 != 0;
    const char* kSchemes[] = {"auto", "pipeline", "both"};
    World world(2, options, configured(kSchemes[random() % 3]));
    stria_layout_t *element = nullptr, *column = nullptr;
    ASSERT_EQ(stria_layout_bytes(8, &element), STRIA_OK);
    ASSERT_EQ(stria_layout_vector(16, 1, 16, element, &column), STRIA_OK);  // 128 of 248 bytes
    struct Message {
      Bytes data, room;
      std::size_t bytes = 0, received = 0;
      bool in_columns = false;
      Op send, recv;
    };
    std::vector<Message> messages(4);
    for (std::size_t i = 0; i < messages.size(); ++i) {
      Message& m = messages[i];
      const std::size_t columns = 40 + random() % 2000;
      m.bytes = columns * 128;
      m.in_columns = random() % 2 != 0;
      m.received = m.bytes - (m.in_columns || random() % 3 != 0 ? 0 : random() % m.bytes);
      m.data = pattern(m.bytes, random());
      m.room.assign(m.in_columns ? columns * 248 : m.received, 0xee);
      ASSERT_GE(world.send(m.send, 0, 1, i, m.data.data(), m.bytes), 0);
      ASSERT_GE(world.recv(m.recv, 1, 0, i, 0, m.room.data(), m.in_columns ? columns : m.received,
                           m.in_columns ? column : nullptr),
                0);
    }
    ASSERT_TRUE(run_unevenly(world, random, [&] {
      return std::all_of(messages.begin(), messages.end(),
                         [](Message& m) { return m.send.ended() && m.recv.ended(); });
    }));
    for (Message& m : messages) {
      ASSERT_EQ(m.recv.info.status, m.received < m.bytes ? STRIA_ERR_TRUNCATED : STRIA_OK);
      ASSERT_EQ(m.send.info.status, STRIA_OK);
      if (m.in_columns) {
        for (std::size_t i = 0; i < m.bytes; ++i)
          ASSERT_EQ(m.room[i / 128 * 248 + i % 128 / 8 * 16 + i % 8], m.data[i]) << i;
      } else {
        ASSERT_TRUE(std::equal(m.room.begin(), m.room.end(), m.data.begin()));
      }
    }
    overtakes += fake::statistics(world.fabric()).fragment_overtakes;
    stria_layout_free(column);
    stria_layout_free(element);
  }
  EXPECT_GT(overtakes, 0u);
}

TEST_F(FragmentOrder, is_free_for_puts_and_gets_that_the_engine_serves) {
  for (unsigned seed = 1; seed <= rounds(100); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    fake::FabricOptions options;
    options.seed = seed;
    options.fragment_overtakes_percent = random() % 101;
    options.get = options.put = false;
    World world(2, options, configured("auto"));
    const std::size_t bytes = 20000 + random() % 100000;
    for (const bool put : {false, true}) {
      Bytes memory = pattern(bytes, 1), local = pattern(bytes, 2);
      const Bytes wanted = put ? local : memory;
      stria_region_t* region = nullptr;
      stria_key_t* key = nullptr;
      ASSERT_EQ(stria_region_register(world.worker(1), memory.data(), nullptr, bytes,
                                      STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE, &region),
                STRIA_OK);
      char packed[STRIA_KEY_MAX];
      size_t size = sizeof(packed);
      ASSERT_EQ(stria_region_key(region, packed, &size), STRIA_OK);
      ASSERT_EQ(stria_key_open(world.endpoint(0, 1), packed, size, &key), STRIA_OK);
      Op op;
      const stria_rma_t rma{local.data(), nullptr, bytes, key, 0, &Op::on_done, &op};
      op.answer = put ? stria_put(world.endpoint(0, 1), &rma, &op.request)
                      : stria_get(world.endpoint(0, 1), &rma, &op.request);
      ASSERT_TRUE(world.run_until([&] { return op.ended(); }));
      ASSERT_EQ(op.info.status, STRIA_OK);
      ASSERT_EQ(put ? memory : local, wanted);
      stria_key_close(key);
      ASSERT_EQ(stria_region_deregister(region), STRIA_OK);
    }
  }
}

/// One message of 16 fragments of 4 KiB, whose fragments the test looks after.
class Meddled : public FragmentOrder {
 protected:
  static constexpr std::size_t kFragment = 4096, kBytes = 16 * kFragment;

  /// Sends it; the receiver reads nothing itself.
  void start(std::function<fake::Fate(stria_header_t&, unsigned number)> fate) {
    fake::FabricOptions options = quick();
    world_ = std::make_unique<World>(2, options, configured("pipeline"));
    fake::meddle(world_->fabric(), [this, fate = std::move(fate)](stria_header_t& header) {
      return fate(header, fragments_++);
    });
    ASSERT_GE(world_->send(send_, 0, 1, 3, data_.data(), data_.size()), 0);
    ASSERT_GE(world_->recv(recv_, 1, 0, 3, 0, room_.data(), room_.size()), 0);
  }
  bool run() {
    return world_->run_until([&] { return send_.ended() && recv_.ended(); }, 5000);
  }
  /// The pair goes on: a message with good fragments arrives.
  void expect_others_come() {
    fake::meddle(world_->fabric(), {});
    Op send, recv;
    Bytes room(kBytes);
    ASSERT_GE(world_->send(send, 0, 1, 4, data_.data(), data_.size()), 0);
    ASSERT_GE(world_->recv(recv, 1, 0, 4, 0, room.data(), room.size()), 0);
    ASSERT_TRUE(world_->run_until([&] { return send.ended() && recv.ended(); }));
    EXPECT_EQ(recv.info.status, STRIA_OK);
    EXPECT_EQ(room, data_);
  }
  static void place(stria_header_t& header, std::uint64_t at) {
    header = wire::make_fragment(header.tag, at);
  }

  const Bytes data_ = pattern(kBytes, 7);
  Bytes room_ = Bytes(kBytes, 0xee);
  std::unique_ptr<World> world_;
  Op send_, recv_;
  unsigned fragments_ = 0;
};

TEST_F(Meddled, a_fragment_that_comes_twice_ends_the_receive_with_an_error) {
  start([](stria_header_t&, unsigned number) {
    return number == 5 ? fake::Fate::doubled : fake::Fate::arrives;
  });
  ASSERT_TRUE(run());
  EXPECT_EQ(recv_.info.status, STRIA_ERR_IO);
  expect_others_come();
}

TEST_F(Meddled, one_that_comes_twice_does_not_stand_for_one_that_is_lost) {
  for (const unsigned lost : {0u, 6u, 15u}) {
    fragments_ = 0;
    send_ = {};
    recv_ = {};
    start([lost](stria_header_t&, unsigned number) {
      return number == lost ? fake::Fate::lost : number == 5 ? fake::Fate::doubled : fake::Fate::arrives;
    });
    ASSERT_TRUE(run());
    EXPECT_EQ(recv_.info.status, STRIA_ERR_IO) << lost;
    expect_others_come();
  }
}

TEST_F(Meddled, a_lost_fragment_is_waited_for_until_its_sender_dies) {
  start(
      [](stria_header_t&, unsigned number) { return number == 5 ? fake::Fate::lost : fake::Fate::arrives; });
  EXPECT_FALSE(run());
  EXPECT_TRUE(send_.ended());
  ASSERT_FALSE(recv_.ended());
  world_->kill(0, fake::Loss::none);
  ASSERT_TRUE(run());
  EXPECT_EQ(recv_.info.status, STRIA_ERR_PEER_FAILED);
}

TEST_F(Meddled, a_fragment_in_the_wrong_place_ends_the_receive_with_an_error) {
  for (const std::uint64_t at :
       {std::uint64_t{kBytes}, kBytes - kFragment + 1, std::uint64_t{wire::kPutting} - 1,
        std::uint64_t{4 * kFragment}, std::uint64_t{5 * kFragment - 1}, std::uint64_t{0},
        std::uint64_t{5 * kFragment + 1}}) {
    fragments_ = 0;
    send_ = {};
    recv_ = {};
    start([at](stria_header_t& header, unsigned number) {
      if (number == 5) place(header, at);
      return fake::Fate::arrives;
    });
    ASSERT_TRUE(run());
    EXPECT_EQ(recv_.info.status, STRIA_ERR_IO) << at;
    expect_others_come();
  }
}

}  // namespace
}  // namespace stria::test
