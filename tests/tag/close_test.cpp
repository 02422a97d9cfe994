// Closing a worker: it ends in time whatever comes meanwhile, and nothing is started behind its back.
#include <chrono>

#include "tests/tag/shm_pair.hpp"

namespace stria::test {
namespace {

using Clock = std::chrono::steady_clock;

/// A worker that talks to itself without end: each message it receives makes it send the next one.
struct Echo {
  stria_worker_t* worker;
  stria_endpoint_t* self;
  Clock::time_point end;
  stria_request_t receiving{}, sending{};
  char room = 0;

  void post() {
    stria_recv_t recv{};
    recv.base = &room;
    recv.count = 1;
    recv.match = {self, 1, 0};
    recv.callback = &Echo::on_received;
    recv.user = this;
    ASSERT_GE(stria_recv(worker, &recv, &receiving), STRIA_OK);
  }
  void send() {
    static const char byte = 1;
    const stria_send_t send{&byte, nullptr, 1, 1, 0, 0, nullptr, nullptr};
    ASSERT_EQ(stria_send(self, &send, &sending), STRIA_OK);
  }
  static void on_received(stria_request_t*, const stria_info_t* info, void* user) {
    auto& echo = *static_cast<Echo*>(user);
    if (info->status != STRIA_OK || Clock::now() > echo.end) return;
    echo.post();
    echo.send();
  }
};

TEST_F(ShmPair, closes_in_time_although_messages_never_stop_coming) {
  Op sync;
  const char byte = 1;
  stria_send_t send{};
  send.base = &byte;
  send.count = 1;
  send.tag = kTag;
  send.flags = STRIA_SEND_SYNCHRONOUS;
  send.callback = &Op::on_done;
  send.user = &sync;
  ASSERT_EQ(stria_send(to_, &send, &sync.request), STRIA_IN_PROGRESS);  // nobody will receive it
  Echo echo{team_.worker(0), team_.endpoint(0, 0), Clock::now() + std::chrono::seconds(60)};
  echo.post();
  while (stria_worker_progress(team_.worker(0)) == 0) echo.send();
  const auto begin = Clock::now();
  team_.leave(0);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(sync.callbacks, 1);
  EXPECT_EQ(sync.info.status, STRIA_ERR_CANCELLED);
}

TEST(Close, takes_no_longer_than_it_may_however_much_is_left_to_wait_for) {
  ShmTeam team;
  team.join({{{"STRIA_CLOSE_TIMEOUT_MS", "2000"}}});
  team.join({{{"STRIA_CLOSE_TIMEOUT_MS", "20"}}});
  stria_endpoint_t* const to = team.endpoint(0, 1);
  // Its announcement lies in the window of a peer that does not look, and it waits for that peer's answer.
  Op op;
  const std::vector<unsigned char> data(4u << 20, 7);
  stria_send_t send{};
  send.base = data.data();
  send.count = data.size();
  send.callback = &Op::on_done;
  send.user = &op;
  ASSERT_EQ(stria_send(to, &send, &op.request), STRIA_IN_PROGRESS);
  team.progress(0);
  const auto begin = Clock::now();
  team.leave(0);
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(1980));
  EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(3900)) << "the limit is one for all";
  EXPECT_EQ(op.info.status, STRIA_ERR_CANCELLED);
}

/// A request that closing ends, whose callback starts all there is.
struct Stubborn {
  stria_worker_t* worker = nullptr;
  stria_endpoint_t* known = nullptr;
  stria_endpoint_t* stranger = nullptr;
  stria_request_t first, next[8];
  int calls = 0;

  static void on_ended(stria_request_t*, const stria_info_t* info, void* user) {
    auto& me = *static_cast<Stubborn*>(user);
    ++me.calls;
    EXPECT_EQ(info->status, STRIA_ERR_CANCELLED);
    static const std::vector<char> data(1 << 20);
    unsigned i = 0;
    for (stria_endpoint_t* to : {me.known, me.stranger}) {
      for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{data.size()}}) {
        const stria_send_t send{data.data(), nullptr, bytes, 1, 0, 0, nullptr, nullptr};
        EXPECT_EQ(stria_send(to, &send, &me.next[i++]), STRIA_ERR_CANCELLED);
      }
      const stria_send_t now{data.data(), nullptr, 1, 1, 0, STRIA_SEND_IMMEDIATE, nullptr, nullptr};
      EXPECT_EQ(stria_send(to, &now, nullptr), STRIA_ERR_CANCELLED);
    }
    EXPECT_EQ(stria_endpoint_connect(me.stranger), STRIA_ERR_CANCELLED);
  }
};

TEST_F(ShmPair, starts_nothing_for_a_callback_of_its_close) {
  team_.join({});
  Stubborn stubborn;
  stubborn.worker = team_.worker(0);
  stubborn.known = to_;
  stubborn.stranger = team_.endpoint(0, 2);
  ASSERT_EQ(stria_endpoint_connect(to_), STRIA_OK);
  team_.progress(1);
  char room = 0;
  stria_recv_t recv{};
  recv.base = &room;
  recv.count = 1;
  recv.match = {to_, kTag, 0};
  recv.callback = &Stubborn::on_ended;
  recv.user = &stubborn;
  ASSERT_EQ(stria_recv(team_.worker(0), &recv, &stubborn.first), STRIA_IN_PROGRESS);
  team_.leave(0);
  EXPECT_EQ(stubborn.calls, 1);
}

/// The callback of a get that a provider still had when it closed.
struct Late {
  World* world;
  int calls = 0;

  static void on_ended(stria_request_t*, const stria_info_t* info, void* user) {
    auto& late = *static_cast<Late*>(user);
    ++late.calls;
    EXPECT_EQ(info->status, STRIA_ERR_CANCELLED);
    EXPECT_EQ(stria_worker_progress(late.world->worker(0)), 0u);
    const char byte = 1;
    const stria_send_t send{&byte, nullptr, 1, 1, 0, 0, nullptr, nullptr};
    stria_request_t request;
    for (unsigned to : {1u, 2u})
      EXPECT_EQ(stria_send(late.world->endpoint(0, to), &send, &request), STRIA_ERR_CANCELLED);
  }
};

TEST(Close, lets_no_callback_reach_a_device_that_is_gone) {  // run with AddressSanitizer
  auto options = quick();
  options.async_percent = 99;
  options.delay = 1000000;
  World world(3, options);
  std::vector<char> memory(4096), local(4096);
  stria_region_t* region = nullptr;
  ASSERT_EQ(stria_region_register(world.worker(1), memory.data(), nullptr, memory.size(),
                                  STRIA_ACCESS_REMOTE_READ, &region),
            STRIA_OK);
  char packed[STRIA_KEY_MAX];
  size_t bytes = sizeof(packed);
  ASSERT_EQ(stria_region_key(region, packed, &bytes), STRIA_OK);
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(world.endpoint(0, 1), packed, bytes, &key), STRIA_OK);
  Late late{&world};
  stria_request_t requests[8];
  int active = 0;
  for (stria_request_t& request : requests) {
    stria_rma_t rma{};
    rma.base = local.data();
    rma.count = 100;
    rma.key = key;
    rma.callback = &Late::on_ended;
    rma.user = &late;
    active += stria_get(world.endpoint(0, 1), &rma, &request) == STRIA_IN_PROGRESS ? 1 : 0;
  }
  stria_key_close(key);
  ASSERT_GT(active, 0);
  world.close(0);
  EXPECT_EQ(late.calls, active);
}

/// The announcement came, the key ended with the worker, and the receiver has not noticed yet.
class ClosedSender : public ShmPair {
 protected:
  ClosedSender() {
    EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "get", "test"), STRIA_OK);
    sender_ = team_.join({});
    receiver_ = team_.join({});
    EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "auto", "test"), STRIA_OK);
    to_ = team_.endpoint(sender_, receiver_);
    send(op_, data_);
    team_.progress(receiver_);
    team_.leave(sender_);
    EXPECT_EQ(op_.info.status, STRIA_ERR_CANCELLED);
  }
  stria_info_t outcome(bool probe) {
    std::vector<unsigned char> room(data_.size());
    stria_recv_t recv{};
    recv.base = room.data();
    recv.count = room.size();
    recv.match.tag = kTag;
    stria_request_t request;
    stria_info_t info{};
    stria_message_t* message = nullptr;
    stria_worker_t* const worker = team_.worker(receiver_);
    if (probe) {
      EXPECT_EQ(stria_mprobe(worker, &recv.match, &message, nullptr), STRIA_OK);
    }
    const stria_status_t started =
        probe ? stria_mrecv(worker, message, &recv, &request) : stria_recv(worker, &recv, &request);
    EXPECT_GE(started, STRIA_OK);
    stria_request_wait(worker, &request, &info);
    return info;
  }
  std::vector<unsigned char> data_ = std::vector<unsigned char>(1 << 20, 7);
  unsigned sender_ = 0, receiver_ = 0;
  Op op_;
};

TEST_F(ClosedSender, has_failed_for_whoever_receives_what_it_announced) {
  EXPECT_EQ(outcome(false).status, STRIA_ERR_PEER_FAILED);
}
TEST_F(ClosedSender, has_failed_for_whoever_took_what_it_announced) {
  EXPECT_EQ(outcome(true).status, STRIA_ERR_PEER_FAILED);
}

TEST_F(ShmPair, frees_what_a_matched_probe_took_and_nobody_received) {  // run with AddressSanitizer
  Op op;
  const std::vector<unsigned char> data(5000, 7);
  send(op, data);
  team_.progress(1);
  stria_message_t* message = nullptr;
  const stria_match_t match{from_, kTag, 0};
  ASSERT_EQ(stria_mprobe(team_.worker(1), &match, &message, nullptr), STRIA_OK);
  team_.leave(1);
}

}  // namespace
}  // namespace stria::test
