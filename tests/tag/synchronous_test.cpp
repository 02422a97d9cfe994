// Synchronous sends: what would go eagerly goes at once and ends when it is matched, long ones are announced.
// Every byte is compared.
#include <algorithm>
#include <numeric>

#include "tests/tag/world.hpp"
#include "transport/wire.hpp"

namespace stria::test {
namespace {

constexpr std::uint32_t kSync = STRIA_SEND_SYNCHRONOUS;

std::vector<char> pattern(std::size_t bytes, int seed) {
  std::vector<char> data(bytes);
  std::iota(data.begin(), data.end(), static_cast<char>(seed));
  return data;
}

/// With PIO, and without, when all goes through buffers.
class Synchronous : public ::testing::TestWithParam<bool> {
 protected:
  static fake::FabricOptions options() {
    fake::FabricOptions out;
    out.delay = 2;
    out.no_resource_percent = 30;  // also of the answers
    out.keeps = true;
    out.pio = GetParam();
    return out;
  }
};

TEST_P(Synchronous, goes_at_once_up_to_its_limit_and_ends_when_it_is_matched) {
  World world(2, options());
  const std::size_t most = options().eager_max;
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{16}, std::size_t{17}, std::size_t{100},
        most - 1, most, most + 1, std::size_t{300000}})
    for (const bool posted : {false, true})
      for (const std::size_t room_bytes : {bytes, bytes / 2}) {
        SCOPED_TRACE(testing::Message() << bytes << " bytes, " << (posted ? "posted" : "unexpected")
                                        << ", room for " << room_bytes);
        const auto before = counters(world, 0);
        const std::vector<char> data = pattern(bytes, 7);
        std::vector<char> room(bytes + 1, 'x');
        Op send, recv;
        if (posted) world.recv(recv, 1, 0, 1, 0, room.data(), room_bytes);
        ASSERT_EQ(world.send(send, 0, 1, 1, data.data(), bytes, 3, kSync), STRIA_IN_PROGRESS);
        for (int i = 0; i < 100; ++i) world.step();
        if (!posted) {
          EXPECT_FALSE(send.ended());
          world.recv(recv, 1, 0, 1, 0, room.data(), room_bytes);
        }
        ASSERT_TRUE(world.run_until([&] { return send.ended() && recv.ended(); }));
        EXPECT_EQ(send.info.status, STRIA_OK);
        EXPECT_EQ(recv.info.status, room_bytes < bytes ? STRIA_ERR_TRUNCATED : STRIA_OK);
        EXPECT_EQ(recv.info.length, bytes);
        EXPECT_EQ(recv.info.received, room_bytes);
        EXPECT_EQ(recv.info.immediate, 3u);
        EXPECT_EQ(recv.info.source, stria_worker_id(world.worker(0)));
        EXPECT_TRUE(
            std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(room_bytes), room.begin()));
        EXPECT_EQ(room[room_bytes], 'x');
        EXPECT_EQ(counters(world, 0).sent_rendezvous - before.sent_rendezvous, bytes > most ? 1u : 0u);
      }
  EXPECT_EQ(counters(world, 1).unexpected_bytes, 0u);
  EXPECT_EQ(fake::statistics(world.fabric()).kept, 0u);
  EXPECT_GT(fake::statistics(world.fabric()).all_kept, 0u);
}

TEST_P(Synchronous, keeps_its_place_among_others_and_is_seen_by_probes) {
  World world(2, options());
  constexpr unsigned kMessages = 200;
  std::vector<std::vector<char>> sent, rooms;
  std::vector<Op> sends(kMessages), recvs(kMessages);
  for (unsigned i = 0; i < kMessages; ++i) {
    sent.push_back(pattern(i * 37 % 3000, static_cast<int>(i)));
    ASSERT_GE(world.send(sends[i], 0, 1, 5, sent[i].data(), sent[i].size(), i, i % 3 == 0 ? 0 : kSync), 0);
    if (i % 8 == 0) world.step();
  }
  rooms.resize(kMessages, std::vector<char>(3000));
  const stria_match_t match{nullptr, 0, ~0ull};
  for (unsigned i = 0; i < kMessages; ++i) {
    if (i % 2 == 0) {
      ASSERT_GE(world.recv(recvs[i], 1, World::kAny, 5, 0, rooms[i].data(), 3000), 0);
      continue;
    }
    stria_message_t* message = nullptr;
    stria_info_t info{};
    ASSERT_TRUE(
        world.run_until([&] { return stria_mprobe(world.worker(1), &match, &message, &info) == STRIA_OK; }));
    ASSERT_EQ(info.immediate, i);
    ASSERT_EQ(info.length, sent[i].size());
    if (i % 3 != 0) {
      EXPECT_FALSE(sends[i].ended()) << "a probe is no receive";
    }
    stria_recv_t recv{};
    recv.base = rooms[i].data();
    recv.count = 3000;
    recv.callback = &Op::on_done;
    recv.user = &recvs[i];
    recvs[i].answer = stria_mrecv(world.worker(1), message, &recv, &recvs[i].request);
    if (recvs[i].answer == STRIA_OK) {
      ASSERT_EQ(stria_request_test(&recvs[i].request, &recvs[i].info), STRIA_OK);
    }
  }
  for (unsigned i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(world.run_until([&] { return sends[i].ended() && recvs[i].ended(); })) << i;
    ASSERT_EQ(recvs[i].info.immediate, i);
    ASSERT_EQ(recvs[i].info.received, sent[i].size());
    rooms[i].resize(sent[i].size());
    ASSERT_EQ(rooms[i], sent[i]) << i;
  }
}

TEST_P(Synchronous, carries_layouts_on_both_sides) {
  World world(2, options());
  stria_layout_t *real = nullptr, *column = nullptr, *pairs = nullptr;
  ASSERT_EQ(stria_layout_bytes(8, &real), STRIA_OK);
  ASSERT_EQ(stria_layout_vector(60, 1, 8 * 16, real, &column), STRIA_OK);
  ASSERT_EQ(stria_layout_vector(30, 2, 8 * 5, real, &pairs), STRIA_OK);
  std::vector<double> from(60 * 16), to(30 * 5, -1);
  std::iota(from.begin(), from.end(), 0.0);
  Op send, recv;
  ASSERT_EQ(world.send(send, 0, 1, 1, from.data(), 1, 0, kSync, column), STRIA_IN_PROGRESS);
  world.recv(recv, 1, 0, 1, 0, to.data(), 1, pairs);
  ASSERT_TRUE(world.run_until([&] { return send.ended() && recv.ended(); }));
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t at = i / 5 * 2 + i % 5;
    EXPECT_EQ(to[i], i % 5 < 2 ? static_cast<double>(at * 16) : -1.0) << i;
  }
  EXPECT_EQ(counters(world, 0).sent_rendezvous, 0u);
  stria_layout_free(column);
  stria_layout_free(pairs);
  stria_layout_free(real);
}

TEST_P(Synchronous, is_announced_when_too_many_others_wait) {
  World world(2, options());
  constexpr unsigned kMessages = 3 * wire::kSyncSlots;
  std::vector<Op> sends(kMessages), recvs(kMessages);
  std::vector<unsigned> sent(kMessages), rooms(kMessages);
  std::iota(sent.begin(), sent.end(), 1u);
  for (int round = 0; round < 2; ++round) {
    const auto before = counters(world, 0);
    for (unsigned i = 0; i < kMessages; ++i) {
      sends[i] = recvs[i] = Op{};
      ASSERT_EQ(world.send(sends[i], 0, 1, i, &sent[i], sizeof sent[i], i, kSync), STRIA_IN_PROGRESS);
      if (i % 8 == 0) world.step();
    }
    for (int i = 0; i < 3000; ++i) world.step();
    EXPECT_EQ(counters(world, 0).sent_rendezvous - before.sent_rendezvous, kMessages - wire::kSyncSlots);
    std::fill(rooms.begin(), rooms.end(), 0u);
    for (unsigned i = kMessages; i-- > 0;) {
      EXPECT_FALSE(sends[i].ended());
      ASSERT_GE(world.recv(recvs[i], 1, 0, i, 0, &rooms[i], sizeof rooms[i]), 0);
      ASSERT_TRUE(world.run_until([&] { return sends[i].ended() && recvs[i].ended(); })) << i;
    }
    EXPECT_EQ(rooms, sent);
  }
}

TEST_P(Synchronous, is_announced_when_its_receiver_keeps_too_much_unread) {
  fake::FabricOptions all_come_along = options();
  all_come_along.keeps = false;
  World world(2, all_come_along, {{{"STRIA_UNEXPECTED_BUDGET", "1M"}}});
  constexpr unsigned kMessages = 240;  // not more than have a slot
  const std::vector<char> data = pattern(12000, 1);
  std::vector<Op> sends(kMessages), recvs(kMessages);
  for (unsigned i = 0; i < kMessages; ++i) {
    ASSERT_EQ(world.send(sends[i], 0, 1, i, data.data(), data.size(), i, kSync), STRIA_IN_PROGRESS);
    if (i % 32 == 0) world.step();
  }
  ASSERT_TRUE(world.run_until([&] { return counters(world, 1).unexpected_messages == kMessages; }));
  EXPECT_LE(counters(world, 1).unexpected_bytes_max, 1u << 20);
  const std::uint64_t announced = counters(world, 0).sent_rendezvous;
  EXPECT_GT(announced, kMessages / 2);
  EXPECT_LT(announced, kMessages - 20);
  std::vector<std::vector<char>> rooms(kMessages, std::vector<char>(data.size()));
  for (unsigned i = kMessages; i-- > 0;) {
    EXPECT_FALSE(sends[i].ended());
    ASSERT_GE(world.recv(recvs[i], 1, 0, i, 0, rooms[i].data(), data.size()), 0);
  }
  for (unsigned i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(world.run_until([&] { return sends[i].ended() && recvs[i].ended(); })) << i;
    ASSERT_EQ(rooms[i], data) << i;
  }
  EXPECT_EQ(counters(world, 1).unexpected_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Ways, Synchronous, ::testing::Bool(),
                         [](const auto& one) { return std::string(one.param ? "pio" : "buffered"); });

}  // namespace
}  // namespace stria::test
