// Messages between mapped memories that both sides copy: the sender stores the begin, the receiver loads the
// end, and the side that is inside the library goes on alone (rndv/mapped_both.cpp).
#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <span>

#include "tests/rounds.hpp"
#include "tests/tag/allocated.hpp"
#include "tests/tag/shm_pair.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

std::vector<unsigned char> pattern(std::size_t bytes, unsigned seed) {
  std::vector<unsigned char> data((bytes + 7) / 8 * 8);
  std::uint64_t word = seed;
  for (std::size_t at = 0; at < data.size(); at += 8) {
    word = word * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(&data[at], &word, 8);
  }
  data.resize(bytes);
  return data;
}

/// Set before contexts are opened.
struct Forced {
  Forced() { EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "both", "test"), STRIA_OK); }
  ~Forced() { EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "auto", "test"), STRIA_OK); }
};

/// Two workers of this process, driven one by one.
class Shares : Forced, public ShmPair {
 protected:
  bool alone(unsigned who, Op& op) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!op.ended() && std::chrono::steady_clock::now() < end) team_.progress(who, 1);
    return op.ended();
  }
  stria_status_t send_mapped(Op& op, Allocated& data, stria_layout_t* layout = nullptr,
                             std::size_t count = 0) {
    stria_send_t send{};
    send.base = data.data();
    send.layout = layout;
    send.count = layout == nullptr ? data.bytes().size() : count;
    send.tag = kTag;
    send.callback = &Op::on_done;
    send.user = &op;
    return op.answer = stria_send(to_, &send, &op.request);
  }
  stria_counters_t counters() {
    stria_counters_t out{};
    out.size = sizeof(out);
    EXPECT_EQ(stria_worker_counters(team_.worker(1), &out), STRIA_OK);
    return out;
  }
  /// Mapped memory of the sender that has the pattern of `seed`.
  std::unique_ptr<Allocated> data_of(std::size_t bytes, unsigned seed) {
    auto out = std::make_unique<Allocated>(team_.context(0), bytes, true);
    EXPECT_TRUE(out->is_mapped());
    std::ranges::copy(pattern(bytes, seed), out->data());
    return out;
  }
};

TEST_F(Shares, a_sender_that_is_silent_is_not_waited_for) {
  for (const std::size_t bytes : {262145u, 524288u, 1000000u, 5000001u}) {
    SCOPED_TRACE(bytes);
    const auto data = data_of(bytes, 1);
    Allocated room(team_.context(1), bytes + 64, true, 0xee);
    const auto is_right = [&] { return std::ranges::equal(data->bytes(), room.bytes().first(bytes)); };
    Op send_op, recv_op;
    ASSERT_GE(send_mapped(send_op, *data), 0);
    ASSERT_GE(recv(recv_op, room.bytes()), 0);
    ASSERT_TRUE(alone(1, recv_op));
    EXPECT_EQ(recv_op.info.status, STRIA_OK);
    EXPECT_EQ(recv_op.info.length, bytes);
    EXPECT_TRUE(is_right());
    EXPECT_EQ(std::ranges::count(room.bytes().subspan(bytes), 0xee), 64);
    ASSERT_TRUE(alone(0, send_op)) << "the last message tells it";
    EXPECT_EQ(send_op.info.status, STRIA_OK);
    EXPECT_TRUE(is_right()) << "what it stores later is refused";
    team_.progress(1);
  }
  EXPECT_EQ(counters().received_mapped_both, 4u);
}

TEST_F(Shares, a_sender_stores_its_half_while_the_receiver_is_gone) {
  constexpr std::size_t kBytes = 4u << 20;
  const auto data = data_of(kBytes, 2);
  Allocated room(team_.context(1), kBytes, true);
  Op send_op, recv_op;
  ASSERT_GE(send_mapped(send_op, *data), 0);
  ASSERT_GE(recv(recv_op, room.bytes()), 0);
  // The sender's part is less than half of the message by less than a piece.
  constexpr std::size_t kPart = kBytes / 5 * 2;
  const auto has = [&](std::size_t from, std::size_t bytes) {
    return std::ranges::equal(room.bytes().subspan(from, bytes), data->bytes().subspan(from, bytes));
  };
  for (int i = 0; i < 1000 && !has(0, kPart); ++i) {
    if (has(0, 100))
      team_.progress(0, 1);  // asked for its part, the sender goes on alone
    else
      team_.progress(i % 2 == 0 ? 1 : 0, 1);
  }
  EXPECT_TRUE(has(0, kPart));
  EXPECT_FALSE(recv_op.ended());
  EXPECT_FALSE(has(kBytes / 2, kBytes / 2)) << "the receiver's part";
  ASSERT_TRUE(alone(1, recv_op));
  EXPECT_TRUE(has(0, kBytes));
  ASSERT_TRUE(alone(0, send_op));
}

TEST_F(Shares, who_goes_and_who_comes_back_makes_no_difference) {
  const auto seed = static_cast<unsigned>(from_environment("STRIA_TEST_SEED", 20234));
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  stria_layout_t *element = nullptr, *rows = nullptr;
  ASSERT_EQ(stria_layout_bytes(1, &element), STRIA_OK);
  ASSERT_EQ(stria_layout_vector(64, 5000, 7000, element, &rows), STRIA_OK);
  constexpr std::size_t kExtent = 63 * 7000 + 5000;
  for (std::int64_t round = 0; round < rounds(100); ++round) {
    const bool lies_in_rows = random() % 3 == 0;
    const std::size_t count = 1 + random() % 5;
    const std::size_t bytes = lies_in_rows ? count * 64 * 5000 : 262145 + random() % 3000000;
    const std::size_t shorter = random() % 4 == 0 ? random() % 40000 : 0;  // truncated
    const auto memory = data_of(lies_in_rows ? count * kExtent : bytes, random());
    const std::span<unsigned char> all = memory->bytes();
    std::vector<unsigned char> wanted;
    if (lies_in_rows) {
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t row = 0; row < 64; ++row) {
          const auto of_row = all.subspan(i * kExtent + row * 7000, 5000);
          wanted.insert(wanted.end(), of_row.begin(), of_row.end());
        }
    } else {
      wanted.assign(all.begin(), all.end());
    }
    Allocated room(team_.context(1), bytes - shorter, true);
    Op send_op, recv_op;
    const auto do_send = [&] {
      return lies_in_rows ? send_mapped(send_op, *memory, rows, count) : send_mapped(send_op, *memory);
    };
    if (random() % 2 != 0) {
      ASSERT_GE(recv(recv_op, room.bytes()), 0);
      ASSERT_GE(do_send(), 0);
    } else {
      ASSERT_GE(do_send(), 0);
      ASSERT_GE(recv(recv_op, room.bytes()), 0);
    }
    const unsigned slow = random() % 2;
    for (int step = 0; step < 2000000 && !(recv_op.ended() && send_op.ended()); ++step) {
      const unsigned who = random() % 3 == 0 ? slow : 1 - slow;
      team_.progress(who, 1 + random() % (who == slow ? 3 : 20));
    }
    ASSERT_TRUE(recv_op.ended() && send_op.ended()) << "round " << round;
    ASSERT_EQ(recv_op.info.status, shorter != 0 ? STRIA_ERR_TRUNCATED : STRIA_OK);
    ASSERT_EQ(send_op.info.status, STRIA_OK);
    ASSERT_TRUE(std::equal(room.bytes().begin(), room.bytes().end(), wanted.begin())) << "round " << round;
  }
  EXPECT_GT(counters().received_mapped_both * 2, static_cast<std::uint64_t>(rounds(100)));
  stria_layout_free(rows);
  stria_layout_free(element);
}

fake::FabricOptions options_of(unsigned seed) {
  std::mt19937 random(seed);
  fake::FabricOptions options;
  options.seed = seed;
  options.async_percent = random() % 101;
  options.no_resource_percent = random() % 40;
  share_memory(options, random);
  options.maps = true;
  return options;
}
const std::vector<std::array<std::string, 2>> kNoPatience = {{{"STRIA_RNDV_PATIENCE", "0"}},
                                                             {{"STRIA_EAGER_LIMIT", "4K"}}};

/// Six messages at once over the fake provider, most of them between mapped memories; both workers progress
/// as the seed says.
class Messages {
 public:
  explicit Messages(unsigned seed)
      : random_(seed), world_(2, options_of(seed), kNoPatience), sends_(6), recvs_(6) {
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      const std::size_t bytes = 85000 + random_() % 200000;
      data_.emplace_back(world().context(), bytes, random_() % 8 != 0);
      rooms_.emplace_back(world().context(), bytes, random_() % 8 != 0);
      std::ranges::copy(pattern(bytes, random_()), data_.back().data());
    }
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      EXPECT_GE(world().send(sends_[i], 0, 1, i, data_[i].data(), data_[i].bytes().size()), 0);
      EXPECT_GE(world().recv(recvs_[i], 1, 0, i, 0, rooms_[i].data(), rooms_[i].bytes().size()), 0);
    }
    slow_ = random_() % 2;
  }
  ~Messages() {
    world_.close(0);
    world_.close(1);
  }  // what is not ended ends then
  void step() { stria_worker_progress(world().worker(random_() % 8 == 0 ? slow_ : 1 - slow_)); }
  bool received() {
    return std::all_of(recvs_.begin(), recvs_.end(), [](Op& op) { return op.ended(); });
  }
  bool sent() {
    return std::all_of(sends_.begin(), sends_.end(), [](Op& op) { return op.ended(); });
  }
  bool run() {
    for (unsigned steps = 0; steps < 400000 && !(received() && sent()); ++steps) step();
    return received() && sent();
  }
  /// Of those that ended well.
  void check(bool all) {
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      if (all) {
        ASSERT_EQ(sends_[i].info.status, STRIA_OK) << i;
      }
      if (all || recvs_[i].info.status == STRIA_OK) {
        ASSERT_EQ(recvs_[i].info.status, STRIA_OK) << i;
        ASSERT_TRUE(std::ranges::equal(rooms_[i].bytes(), data_[i].bytes())) << i;
      } else {
        ASSERT_EQ(recvs_[i].info.status, STRIA_ERR_PEER_FAILED) << i;
      }
    }
  }
  /// How many messages both sides copied.
  std::uint64_t shared() { return counters(world(), 1).received_mapped_both; }
  std::mt19937& random() { return random_; }
  World& world() { return world_; }

 private:
  std::mt19937 random_;
  World world_;
  std::deque<Allocated> data_, rooms_;
  std::vector<Op> sends_, recvs_;
  unsigned slow_ = 0;
};

TEST(Share, is_right_under_every_order_of_late_gets_and_puts) {
  const Forced forced;
  std::uint64_t shared = 0;
  for (unsigned seed = 1; seed <= rounds(150); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Messages messages(seed);
    ASSERT_TRUE(messages.run());
    messages.check(true);
    shared += messages.shared();
    for (const unsigned who : {0u, 1u})
      EXPECT_EQ(fake::valid_keys(messages.world().fabric(), stria_worker_id(messages.world().worker(who))),
                0u);
  }
  EXPECT_GT(shared, rounds(150));
}

TEST(Share, goes_on_when_the_system_refuses_copies_of_other_memory_meanwhile) {
  const Forced forced;
  unsigned late = 0;
  for (unsigned seed = 1; seed <= rounds(150); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Messages messages(seed);
    for (unsigned i = messages.random()() % 60; i > 0; --i) messages.step();
    fake::refuse_copies(messages.world().fabric());
    late += messages.received() ? 0 : 1;
    ASSERT_TRUE(messages.run());
    messages.check(true);
  }
  EXPECT_GT(late * 2, rounds(150));
}

TEST(Share, a_sender_that_dies_meanwhile_ends_the_receives) {
  const Forced forced;
  for (unsigned seed = 1; seed <= rounds(100); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Messages messages(seed);
    for (unsigned i = messages.random()() % 60; i > 0; --i) messages.step();
    messages.world().kill(0, fake::Loss::random);
    for (unsigned i = 0; i < 100000 && !messages.received(); ++i)
      stria_worker_progress(messages.world().worker(1));
    ASSERT_TRUE(messages.received());
    messages.check(false);
  }
}

TEST(Share, a_receiver_that_dies_meanwhile_ends_the_sends) {
  const Forced forced;
  for (unsigned seed = 1; seed <= rounds(100); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Messages messages(seed);
    for (unsigned i = messages.random()() % 60; i > 0; --i) messages.step();
    messages.world().kill(1, fake::Loss::random);
    for (unsigned i = 0; i < 100000 && !messages.sent(); ++i)
      stria_worker_progress(messages.world().worker(0));
    ASSERT_TRUE(messages.sent());
  }
}

}  // namespace
}  // namespace stria::test
