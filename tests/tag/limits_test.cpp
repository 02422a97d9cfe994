// What an endpoint says that its link can do, and what it does. It changes while the link is up: a window
// comes later, a copy is refused later. The worker's copy of the limits follows.
#include <string>

#include "tests/tag/shm_team.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

stria_counters_t counters(stria_worker_t* worker) {
  stria_counters_t out{};
  out.size = sizeof(out);
  EXPECT_EQ(stria_worker_counters(worker, &out), STRIA_OK);
  return out;
}
stria_status_t send_byte(stria_endpoint_t* endpoint) {
  static stria_request_t request;
  static const char byte = 1;
  stria_send_t send{};
  send.base = &byte;
  send.count = 1;
  send.tag = 1;
  return stria_send(endpoint, &send, &request);
}
stria_endpoint_state_t state_of(stria_endpoint_t* endpoint) {
  stria_endpoint_state_t state{};
  state.size = sizeof(state);
  EXPECT_EQ(stria_endpoint_info(endpoint, &state), STRIA_OK);
  return state;
}
std::uint64_t window_of(stria_endpoint_t* endpoint) {
  return state_of(endpoint).pio_mtu;
}

// Worker 0 has eight windows, one of them kept for low latency. Seven others take what is free; worker 8,
// which comes next, has none.
class LowLatency : public testing::Test {
 protected:
  LowLatency() {
    team_.join({{{"STRIA_SHM_WINDOWS", "8"}, {"STRIA_LIVENESS_MS", "1"}}});
    for (unsigned rank = 1; rank <= 8; ++rank) team_.join({});
  }
  ~LowLatency() override {
    EXPECT_EQ(stria_config_set("STRIA_SHM_WINDOWS", "32", "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_LIVENESS_MS", "500", "test"), STRIA_OK);
  }
  void fill() {
    for (unsigned rank = 1; rank <= 7; ++rank)
      ASSERT_EQ(stria_endpoint_connect(team_.endpoint(rank, 0)), STRIA_OK);
    team_.progress(0);
  }
  ShmTeam team_;
};

TEST_F(LowLatency, the_texts_of_an_endpoint_outlive_a_change_of_its_path) {
  fill();
  ASSERT_EQ(send_byte(team_.endpoint(0, 8)), STRIA_OK);
  team_.progress(8);
  stria_endpoint_state_t state{};
  state.size = sizeof(state);
  ASSERT_EQ(stria_endpoint_info(team_.endpoint(8, 0), &state), STRIA_OK);
  const std::string path = state.path;
  const std::string fallback = state.fallback;
  ASSERT_EQ(path.rfind("inbox", 0), 0u) << path;
  team_.endpoint(8, 0, STRIA_CLASS_LOW_LATENCY);  // takes a window, which another thread may do at any time
  EXPECT_EQ(state.path, path);
  EXPECT_EQ(state.fallback, fallback);
  ASSERT_EQ(stria_endpoint_info(team_.endpoint(8, 0), &state), STRIA_OK);
  EXPECT_NE(state.path, path) << "the path did not change";
}

TEST_F(LowLatency, an_endpoint_opened_after_the_peer_connected_gets_its_window) {
  fill();
  ASSERT_EQ(send_byte(team_.endpoint(0, 8)), STRIA_OK);  // worker 0 connects first
  team_.progress(8);
  stria_endpoint_t* plain = team_.endpoint(8, 0);
  ASSERT_EQ(window_of(plain), 0u) << "the windows for everyone are taken";
  stria_endpoint_t* endpoint = team_.endpoint(8, 0, STRIA_CLASS_LOW_LATENCY);
  EXPECT_GT(window_of(endpoint), 0u);
  // What went by the inbox before is taken out first: nothing may overtake it.
  team_.progress(0);
  team_.progress(8);
  ASSERT_EQ(send_byte(endpoint), STRIA_OK);
  EXPECT_EQ(counters(team_.worker(8)).sent_pio, 1u);
}

TEST_F(LowLatency, an_endpoint_opened_before_the_peer_connected_gets_its_window) {
  fill();
  stria_endpoint_t* endpoint = team_.endpoint(8, 0, STRIA_CLASS_LOW_LATENCY);
  ASSERT_EQ(send_byte(team_.endpoint(0, 8)), STRIA_OK);
  team_.progress(8);
  EXPECT_GT(window_of(endpoint), 0u);
  ASSERT_EQ(send_byte(endpoint), STRIA_OK);
  EXPECT_EQ(counters(team_.worker(8)).sent_pio, 1u);
  team_.progress(0);
  EXPECT_EQ(counters(team_.worker(0)).unexpected_messages, 1u);
}

TEST_F(LowLatency, an_endpoint_that_found_all_windows_taken_gets_the_next_that_is_free) {
  fill();
  ASSERT_EQ(stria_endpoint_connect(team_.endpoint(8, 0, STRIA_CLASS_LOW_LATENCY)), STRIA_OK);
  team_.progress(0);
  // Three more, whose wishes come too late: in vain before connecting, after it, and by the other side.
  for (unsigned rank = 9; rank <= 11; ++rank) team_.join({});
  stria_endpoint_t* wishes[3];
  wishes[0] = team_.endpoint(9, 0, STRIA_CLASS_LOW_LATENCY);
  ASSERT_EQ(stria_endpoint_connect(wishes[0]), STRIA_OK);
  ASSERT_EQ(stria_endpoint_connect(team_.endpoint(10, 0)), STRIA_OK);
  wishes[1] = team_.endpoint(10, 0, STRIA_CLASS_LOW_LATENCY);
  ASSERT_EQ(send_byte(team_.endpoint(0, 11)), STRIA_OK);
  team_.progress(11);
  wishes[2] = team_.endpoint(11, 0, STRIA_CLASS_LOW_LATENCY);
  team_.progress(0);
  // Peers are looked after every millisecond. On a busy machine a turn may pass without it.
  const auto served_after = [&](unsigned rounds, unsigned enough) {
    unsigned served = 0;
    for (unsigned round = 0; round < rounds && served < enough; ++round) {
      for (const unsigned rank : {0u, 9u, 10u, 11u}) EXPECT_GE(stria_worker_wait(team_.worker(rank), 3), 0);
      served = 0;
      for (stria_endpoint_t* wish : wishes) served += window_of(wish) > 0 ? 1 : 0;
    }
    return served;
  };
  ASSERT_EQ(served_after(3, 1), 0u);
  for (unsigned gone = 1; gone <= 3; ++gone) {
    team_.leave(gone);
    ASSERT_EQ(served_after(300, gone), gone);
    EXPECT_EQ(served_after(3, gone + 1), gone) << "one window each time that a peer leaves";
  }
  for (unsigned rank = 9; rank <= 11; ++rank) {
    ASSERT_EQ(send_byte(wishes[rank - 9]), STRIA_OK);
    EXPECT_EQ(counters(team_.worker(rank)).sent_pio, 1u);
  }
  team_.progress(0);
  EXPECT_EQ(counters(team_.worker(0)).unexpected_messages, 3u);
}

TEST(Limits, a_link_whose_greeting_found_the_inbox_full_uses_its_window_later) {
  ShmTeam team;
  team.join({{{"STRIA_SHM_INBOX_SLOTS", "16"}}});
  for (unsigned rank = 1; rank <= 17; ++rank) {
    team.join({});
    ASSERT_EQ(stria_endpoint_connect(team.endpoint(rank, 0)), STRIA_OK);
  }
  EXPECT_EQ(stria_config_set("STRIA_SHM_INBOX_SLOTS", "1024", "test"), STRIA_OK);
  stria_endpoint_t* last = team.endpoint(17, 0);
  team.progress(0);
  team.progress(17);
  ASSERT_GT(window_of(last), 0u);
  ASSERT_EQ(send_byte(last), STRIA_OK);
  EXPECT_EQ(counters(team.worker(17)).sent_pio, 1u);
}

TEST(Limits, a_get_that_was_refused_for_good_is_not_tried_again) {
  fake::FabricOptions options;
  options.delay = 0;
  options.queue = 64;
  World world(2, options, {{{"STRIA_RNDV_SCHEME", "get"}}});
  std::vector<char> data(100000, 7), room(100000);
  const auto exchange = [&] {
    Op send, recv;
    world.recv(recv, 1, 0, 5, 0, room.data(), room.size());
    world.send(send, 0, 1, 5, data.data(), data.size());
    EXPECT_TRUE(world.run_until([&] { return recv.ended() && send.ended(); }, 5000));
    EXPECT_EQ(room, data);
  };
  exchange();
  EXPECT_EQ(counters(world.worker(1)).received_get, 1u);
  fake::refuse_copies(world.fabric());
  for (int i = 0; i < 3; ++i) exchange();
  EXPECT_EQ(counters(world.worker(1)).fallbacks, 1u);
  EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "auto", "test"), STRIA_OK);
}

// The window of an endpoint as its user sees it, by variables of the worker that is sent to.
class Window : public testing::Test {
 protected:
  void open(const char* mtu, const char* window_bytes) {
    // Near: to a far peer long messages go by cells.
    team_.join({{{"STRIA_SHM_PIO_MTU", mtu},
                 {"STRIA_SHM_WINDOW_BYTES", window_bytes},
                 {"STRIA_SHM_DISTANCE", "near"}}});
    team_.join({});
    to_ = team_.endpoint(0, 1);
    EXPECT_EQ(state_of(to_).pio_mtu, 0u) << "not connected";
    EXPECT_EQ(state_of(to_).pio_credits, 0u);
    ASSERT_EQ(stria_endpoint_connect(to_), STRIA_OK) << stria_last_error();
    team_.progress(1);
    team_.progress(0);
  }
  stria_status_t send(std::uint64_t bytes) {
    stria_send_t send{};
    send.base = data_.data();
    send.count = bytes;
    send.tag = 1;
    return stria_send(to_, &send, &request_);
  }
  std::uint64_t sent_inline() { return counters(team_.worker(0)).sent_pio; }

  ShmTeam team_;
  stria_endpoint_t* to_ = nullptr;
  stria_request_t request_;
  std::vector<char> data_ = std::vector<char>(1 << 20, 7);
};

struct Mtu {
  const char *asked, *window_bytes;
  std::uint64_t given;
};
class LongestInline : public Window, public testing::WithParamInterface<Mtu> {};

TEST_P(LongestInline, is_what_the_endpoint_says_and_one_byte_more_goes_another_way) {
  open(GetParam().asked, GetParam().window_bytes);
  const std::uint64_t mtu = state_of(to_).pio_mtu;
  EXPECT_EQ(mtu, GetParam().given);
  std::uint64_t expected = 0;
  for (const std::uint64_t bytes : {std::uint64_t{0}, mtu - 1, mtu}) {
    if (mtu == 0) break;
    ASSERT_EQ(send(bytes), STRIA_OK) << bytes;
    EXPECT_EQ(sent_inline(), ++expected) << bytes;
    team_.progress(1);
  }
  ASSERT_EQ(send(mtu + 1), STRIA_OK);
  EXPECT_EQ(sent_inline(), expected);
  EXPECT_EQ(counters(team_.worker(0)).sent_buffered, 1u);
  team_.progress(1);
  EXPECT_EQ(counters(team_.worker(1)).unexpected_messages, expected + 1);
}

INSTANTIATE_TEST_SUITE_P(All, LongestInline,
                         testing::Values(Mtu{"3K", "16K", 3072}, Mtu{"1000", "16K", 1000}, Mtu{"0", "16K", 0},
                                         Mtu{"4095", "16K", 4095}, Mtu{"4096", "16K", 4096},
                                         Mtu{"4097", "16K", 4096}, Mtu{"1M", "16K", 4096},
                                         Mtu{"3K", "4K", 1024}),
                         [](const auto& mtu) {
                           return std::string(mtu.param.asked) + "_in_" + mtu.param.window_bytes;
                         });

TEST_F(Window, its_credits_are_what_can_be_sent_while_the_peer_looks_elsewhere) {
  open("3K", "16K");
  team_.progress(1);  // takes out what a side sends to a new peer to learn how far it is
  const std::uint64_t all = state_of(to_).pio_credits;
  EXPECT_GT(all, 8192u);
  EXPECT_LE(all, 16384u);
  std::uint64_t left = all, sent = 0;
  constexpr std::uint64_t kBytes = 1000, kRecord = 1024, kPad = 64;
  for (; left >= kRecord + kPad; ++sent) {
    ASSERT_EQ(send(kBytes), STRIA_OK);
    ASSERT_EQ(sent_inline(), sent + 1) << "there is credit for it";
    const std::uint64_t now = state_of(to_).pio_credits;
    EXPECT_EQ(left - now, kRecord);
    left = now;
  }
  EXPECT_GE(sent, 7u);
}

TEST_F(Window, its_credits_come_back_when_the_peer_took_everything_out) {
  open("3K", "16K");
  team_.progress(1);  // takes out what a side sends to a new peer to learn how far it is
  const std::uint64_t all = state_of(to_).pio_credits;
  for (unsigned i = 0; i < 40; ++i) {  // more than two laps
    ASSERT_EQ(send(1000), STRIA_OK);
    team_.progress(1);
  }
  EXPECT_EQ(sent_inline(), 40u);
  EXPECT_EQ(counters(team_.worker(1)).unexpected_messages, 40u);
  EXPECT_EQ(state_of(to_).pio_credits, all);
}

}  // namespace
}  // namespace stria::test
