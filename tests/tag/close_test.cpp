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
  Echo echo{team_.worker(0), team_.endpoint(0, 0), Clock::now() + std::chrono::seconds(5)};
  echo.post();
  while (stria_worker_progress(team_.worker(0)) == 0) echo.send();
  const auto begin = Clock::now();
  team_.leave(0);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(sync.callbacks, 1);
  EXPECT_EQ(sync.info.status, STRIA_ERR_CANCELLED);
}

}  // namespace
}  // namespace stria::test
