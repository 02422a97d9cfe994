// Receives that look first whether their message is there: what they take, what they leave to others, and
// that MPI's order holds whatever mixture of receives that look and that do not there is.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <random>
#include <thread>

#include "tests/rounds.hpp"
#include "tests/tag/shm_team.hpp"

namespace stria::test {
namespace {

struct Receive {
  stria_request_t request;
  stria_info_t info{};
  std::vector<unsigned char> room;
  int callbacks = 0;

  static void on_done(stria_request_t*, const stria_info_t* info, void* user) {
    auto* receive = static_cast<Receive*>(user);
    receive->info = *info;
    ++receive->callbacks;
  }
};

class LookTest : public testing::Test {
 public:
  LookTest() {
    team_.join({});
    team_.join({});
    to_receiver_ = team_.endpoint(0, 1);
    from_sender_ = team_.endpoint(1, 0);
    // Both ends have a window of the other before anything is looked at.
    for (int i = 0; i < 100; ++i) both();
    send(0, 1);
    Receive first;
    EXPECT_GE(receive(first, 0, 8, 0), STRIA_OK);
    for (int i = 0; i < 100; ++i) both();
  }
  void both() {
    team_.progress(0, 1);
    team_.progress(1, 1);
  }
  void send(std::uint64_t tag, std::size_t bytes) {
    sent_.emplace_back();
    auto& [request, data] = sent_.back();
    data.resize(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = byte_of(tag, i);
    stria_send_t send{};
    send.base = data.data();
    send.count = bytes;
    send.tag = tag;
    send.immediate = serial_++;
    ASSERT_GE(stria_send(to_receiver_, &send, &request), STRIA_OK) << stria_last_error();
  }
  stria_status_t receive(Receive& receive, std::uint64_t tag, std::size_t room, unsigned flags,
                         bool any_source = false) {
    receive.room.assign(room, 0xee);
    stria_recv_t recv{};
    recv.base = receive.room.data();
    recv.count = room;
    recv.match = {any_source ? nullptr : from_sender_, tag, 0};
    recv.callback = &Receive::on_done;
    recv.user = &receive;
    recv.flags = flags;
    const stria_status_t answer = stria_recv(team_.worker(1), &recv, &receive.request);
    if (answer == STRIA_OK) {
      EXPECT_NE(stria_request_test(&receive.request, &receive.info), STRIA_IN_PROGRESS);
    }
    return answer;
  }
  static unsigned char byte_of(std::uint64_t tag, std::size_t i) {
    return static_cast<unsigned char>(tag * 31 + i * 7 + (i >> 8));
  }
  static bool holds(const Receive& receive, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      if (receive.room[i] != byte_of(receive.info.tag, i)) return false;
    return true;
  }

  ShmTeam team_;
  stria_endpoint_t* to_receiver_;
  stria_endpoint_t* from_sender_;
  std::deque<std::pair<stria_request_t, std::vector<unsigned char>>> sent_;
  std::uint32_t serial_ = 0;
};

TEST_F(LookTest, takes_a_message_that_is_there) {
  for (const std::size_t bytes : {0, 1, 8, 9, 40, 41, 64, 65, 191, 192, 512, 2048}) {
    send(7, bytes);
    Receive got;
    ASSERT_EQ(receive(got, 7, 4096, STRIA_RECV_LOOK), STRIA_OK) << bytes;
    EXPECT_EQ(got.info.status, STRIA_OK);
    EXPECT_EQ(got.info.length, bytes);
    EXPECT_EQ(got.info.received, bytes);
    EXPECT_EQ(got.info.tag, 7u);
    EXPECT_EQ(got.info.immediate, serial_ - 1);
    EXPECT_EQ(got.info.source, stria_worker_id(team_.worker(0)));
    EXPECT_EQ(got.callbacks, 0);
    EXPECT_TRUE(holds(got, bytes)) << bytes;
    EXPECT_EQ(got.room[bytes], 0xee);
  }
}

// Whatever way it takes: out of the window, out of a cell, kept as unexpected, cut off.
TEST_F(LookTest, tells_the_outcome_in_the_request_and_where_it_is_wanted) {
  for (const bool expected : {true, false}) {
    for (const std::size_t bytes : {0, 8, 64, 65, 191, 192, 2048, 2049, 5000, 20000}) {
      send(7, bytes);
      if (!expected) both();
      std::vector<unsigned char> room(10000, 0xee);
      stria_info_t info{};
      info.status = STRIA_ERR_INVALID;
      stria_request_t request;
      std::memset(&request, 0xab, sizeof request);
      stria_recv_t recv{};
      recv.base = room.data();
      recv.count = room.size();
      recv.match = {from_sender_, 7, 0};
      recv.flags = STRIA_RECV_LOOK;
      recv.info = &info;
      ASSERT_EQ(stria_recv(team_.worker(1), &recv, &request), STRIA_OK) << bytes;
      EXPECT_EQ(info.status, bytes > room.size() ? STRIA_ERR_TRUNCATED : STRIA_OK);
      EXPECT_EQ(info.length, bytes);
      EXPECT_EQ(info.received, std::min(bytes, room.size()));
      EXPECT_EQ(info.tag, 7u);
      EXPECT_EQ(info.immediate, serial_ - 1);
      EXPECT_EQ(info.source, stria_worker_id(team_.worker(0)));
      stria_info_t tested{};
      EXPECT_EQ(stria_request_test(&request, &tested), info.status);
      EXPECT_EQ(std::memcmp(&tested, &info, sizeof info), 0);
      for (std::size_t i = 0; i < info.received; ++i) ASSERT_EQ(room[i], byte_of(7, i)) << bytes << " " << i;
      for (std::size_t i = info.received; i < room.size(); ++i) ASSERT_EQ(room[i], 0xee) << bytes << " " << i;
    }
  }
}

TEST_F(LookTest, one_that_waits_gets_what_comes_meanwhile_and_is_posted_when_nothing_comes) {
  Receive late;
  ASSERT_EQ(receive(late, 7, 8, STRIA_RECV_LOOK | STRIA_RECV_WAITS), STRIA_IN_PROGRESS);
  send(7, 8);
  both();
  EXPECT_EQ(late.callbacks, 1);
  EXPECT_TRUE(holds(late, 8));
  const auto kMessages = static_cast<unsigned>(stria::test::rounds(4000));
  std::atomic<unsigned> wanted{0};
  std::thread sender([&] {
    for (unsigned i = 1; i <= kMessages; ++i) {
      while (wanted.load() < i) {
        team_.progress(0, 1);  // takes up credit
        std::this_thread::yield();
      }
      send(7, i % 40);
    }
  });
  unsigned at_once = 0;
  for (unsigned i = 1; i <= kMessages; ++i) {
    Receive got;
    wanted.store(i);
    if (receive(got, 7, 40, STRIA_RECV_LOOK | STRIA_RECV_WAITS) == STRIA_OK)
      ++at_once;
    else
      for (; got.callbacks == 0; std::this_thread::yield()) team_.progress(1, 1);
    EXPECT_EQ(got.info.length, i % 40) << i;
    ASSERT_TRUE(holds(got, i % 40)) << i;
  }
  sender.join();
  std::printf("%u of %u were taken at once\n", at_once, kMessages);
}

TEST_F(LookTest, without_the_flag_nothing_is_found_before_progress) {
  send(7, 8);
  Receive got;
  EXPECT_EQ(receive(got, 7, 8, 0), STRIA_IN_PROGRESS);
  both();
  EXPECT_EQ(got.callbacks, 1);
}

TEST_F(LookTest, tells_truncation) {
  send(7, 100);
  Receive got;
  ASSERT_EQ(receive(got, 7, 10, STRIA_RECV_LOOK), STRIA_OK);
  EXPECT_EQ(got.info.status, STRIA_ERR_TRUNCATED);
  EXPECT_EQ(got.info.length, 100u);
  EXPECT_EQ(got.info.received, 10u);
  EXPECT_TRUE(holds(got, 10));
}

TEST_F(LookTest, serves_older_receives_first) {
  Receive older, any, younger;
  ASSERT_EQ(receive(older, 7, 8, 0), STRIA_IN_PROGRESS);
  ASSERT_EQ(receive(any, 7, 8, 0, true), STRIA_IN_PROGRESS);
  for (int i = 0; i < 3; ++i) send(7, 8);
  ASSERT_EQ(receive(younger, 7, 8, STRIA_RECV_LOOK), STRIA_OK);
  EXPECT_EQ(older.callbacks, 1);
  EXPECT_EQ(any.callbacks, 1);
  EXPECT_EQ(older.info.immediate + 1, any.info.immediate);
  EXPECT_EQ(any.info.immediate + 1, younger.info.immediate);
}

TEST_F(LookTest, leaves_other_messages_for_their_receives) {
  send(1, 8);
  send(2, 8);
  send(2, 8);
  Receive second, first, third;
  const stria_status_t answer = receive(second, 2, 8, STRIA_RECV_LOOK);
  both();
  EXPECT_TRUE(answer == STRIA_OK || second.callbacks == 1);
  ASSERT_EQ(receive(first, 1, 8, STRIA_RECV_LOOK), STRIA_OK);
  ASSERT_EQ(receive(third, 2, 8, STRIA_RECV_LOOK), STRIA_OK);
  EXPECT_EQ(first.info.immediate + 1, second.info.immediate);
  EXPECT_EQ(second.info.immediate + 1, third.info.immediate);
}

// A callback runs while a window is read: a receive that it starts may not read there, too.
TEST_F(LookTest, does_not_look_from_a_callback) {
  struct Outer : Receive {
    LookTest* test;
    Receive inner;
    stria_status_t answer = STRIA_ERR_INVALID;
    static void ended(stria_request_t*, const stria_info_t*, void* user) {
      auto* outer = static_cast<Outer*>(user);
      outer->answer = outer->test->receive(outer->inner, 7, 8, STRIA_RECV_LOOK);
    }
  } outer;
  outer.test = this;
  char room[8];
  stria_recv_t recv{};
  recv.base = room;
  recv.count = sizeof(room);
  recv.match = {from_sender_, 7, 0};
  recv.callback = &Outer::ended;
  recv.user = &outer;
  ASSERT_EQ(stria_recv(team_.worker(1), &recv, &outer.request), STRIA_IN_PROGRESS);
  send(7, 8);
  send(7, 8);
  both();
  both();
  EXPECT_EQ(outer.answer, STRIA_IN_PROGRESS);
  EXPECT_EQ(outer.inner.callbacks, 1);
}

TEST_F(LookTest, credit_comes_back_although_nobody_makes_progress) {
  constexpr int kMessages = 20000;  // 40 MB: many times what a peer is granted
  for (int i = 0; i < kMessages; ++i) {
    send(7, 2000);
    sent_.pop_front();  // it went at once, or the receive below would not be over
    Receive got;
    ASSERT_EQ(receive(got, 7, 2000, STRIA_RECV_LOOK), STRIA_OK) << i;
    ASSERT_TRUE(holds(got, 2000));
    team_.progress(0, 1);
  }
}

// The i-th receive of a tag gets the i-th message of the tag, whatever way each takes.
TEST_F(LookTest, keeps_the_order_in_random_mixtures) {
  constexpr std::uint64_t kSeed = 4711;
  std::mt19937_64 random(kSeed);
  const auto below = [&](unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random); };
  const std::size_t sizes[] = {0,    8,    8,     8,     100,    191,    192,   2048,
                               2049, 5000, 32768, 32769, 100000, 262144, 262145};
  constexpr unsigned kTags = 3;
  for (unsigned round = 0; round < rounds(300); ++round) {
    std::deque<Receive> receives[kTags];
    std::vector<std::uint32_t> serials[kTags];
    std::vector<std::size_t> lengths[kTags];
    unsigned sends = 60, wanted[kTags] = {};
    while (sends > 0 || below(4) != 0) {
      const unsigned tag = below(kTags);
      switch (below(4)) {
        case 0:
        case 1:
          if (sends == 0) break;
          --sends;
          serials[tag].push_back(serial_);
          lengths[tag].push_back(sizes[below(std::size(sizes))]);
          send(tag, lengths[tag].back());
          break;
        case 2:
          receives[tag].emplace_back();
          ++wanted[tag];
          ASSERT_GE(
              receive(receives[tag].back(), tag, 262145, below(4) == 0 ? 0 : STRIA_RECV_LOOK, below(8) == 0),
              STRIA_OK);
          break;
        default:
          if (below(3) == 0) both();
          team_.progress(0, 1);
      }
    }
    for (unsigned tag = 0; tag < kTags; ++tag) {
      while (receives[tag].size() < serials[tag].size()) {
        receives[tag].emplace_back();
        ASSERT_GE(receive(receives[tag].back(), tag, 262145, STRIA_RECV_LOOK), STRIA_OK);
      }
      while (serials[tag].size() < receives[tag].size()) {
        serials[tag].push_back(serial_);
        lengths[tag].push_back(8);
        send(tag, 8);
      }
    }
    for (unsigned i = 0; i < 20000; ++i) both();
    for (unsigned tag = 0; tag < kTags; ++tag) {
      for (std::size_t i = 0; i < receives[tag].size(); ++i) {
        const Receive& got = receives[tag][i];
        stria_info_t info;
        ASSERT_EQ(stria_request_test(&got.request, &info), STRIA_OK)
            << "seed " << kSeed << " round " << round;
        ASSERT_EQ(got.info.immediate, serials[tag][i])
            << "seed " << kSeed << " round " << round << " tag " << tag;
        ASSERT_EQ(got.info.length, lengths[tag][i]);
        ASSERT_TRUE(holds(got, lengths[tag][i]));
      }
    }
    sent_.clear();
  }
}

}  // namespace
}  // namespace stria::test
