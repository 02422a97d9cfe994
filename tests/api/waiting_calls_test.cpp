// The calls that start an operation, wait for it, and answer its outcome: send, recv, put, get and atomic.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "tests/api/explained.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

// One thread, one worker: a message to itself.
TEST(WaitingCalls, start_wait_and_answer_the_outcome) {
  World world(1, quick());
  stria_endpoint_t* self = world.endpoint(0, 0);
  stria_worker_t* worker = world.worker(0);
  std::vector<char> data(1 << 20, 'x'), room(1 << 20);
  for (const std::size_t bytes : {0ul, 8ul, 100ul, 3000ul, 40000ul, 1ul << 20}) {
    stria_send_t send{};
    send.base = data.data();
    send.count = bytes;
    send.tag = 3;
    stria_recv_t recv{};
    recv.base = room.data();
    recv.count = bytes;
    recv.match = {self, 3, 0};
    std::fill(room.begin(), room.end(), '-');
    stria_info_t info{};
    stria_request_t request;
    // The send waits for a receive that is posted; then the receive for a send that is under way.
    ASSERT_GE(stria_recv(worker, &recv, &request), STRIA_OK);
    EXPECT_EQ(stria_send_wait(self, &send), STRIA_OK);
    EXPECT_EQ(stria_request_wait(worker, &request, &info), STRIA_OK);
    EXPECT_TRUE(std::equal(data.begin(), data.begin() + static_cast<long>(bytes), room.begin()));
    ASSERT_GE(stria_send(self, &send, &request), STRIA_OK);
    EXPECT_EQ(stria_recv_wait(worker, &recv, &info), STRIA_OK);
    EXPECT_EQ(info.received, bytes);
    EXPECT_EQ(stria_request_wait(worker, &request, nullptr), STRIA_OK);
    if (bytes < 8) continue;
    recv.count = bytes - 1;
    ASSERT_GE(stria_send(self, &send, &request), STRIA_OK);
    EXPECT_EQ(stria_recv_wait(worker, &recv, &info), STRIA_ERR_TRUNCATED) << bytes;
    EXPECT_TRUE(explained(STRIA_ERR_TRUNCATED, {std::to_string(bytes) + " bytes"}));
    EXPECT_EQ(info.received, bytes - 1);
    EXPECT_EQ(stria_request_wait(worker, &request, nullptr), STRIA_OK);
  }
  stria_send_t send{};
  send.flags = STRIA_SEND_IMMEDIATE;
  EXPECT_EQ(stria_send_wait(self, &send), STRIA_ERR_INVALID);
  EXPECT_TRUE(explained(STRIA_ERR_INVALID, {"stria_send_wait", "STRIA_SEND_IMMEDIATE"}));
  send.flags = 0;
  send.callback = &Op::on_done;
  EXPECT_EQ(stria_send_wait(self, &send), STRIA_ERR_INVALID);
  EXPECT_TRUE(explained(STRIA_ERR_INVALID, {"stria_send_wait", "callback"}));

  std::uint64_t word = 41, before = 0;
  stria_region_t* region = nullptr;
  constexpr unsigned kAll = STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE | STRIA_ACCESS_REMOTE_ATOMIC;
  ASSERT_EQ(stria_region_register(worker, &word, nullptr, sizeof word, kAll, &region), STRIA_OK);
  char packed[STRIA_KEY_MAX];
  std::size_t bytes = sizeof packed;
  ASSERT_EQ(stria_region_key(region, packed, &bytes), STRIA_OK);
  stria_key_t* key = nullptr;
  ASSERT_EQ(stria_key_open(self, packed, bytes, &key), STRIA_OK);
  const stria_atomic_t add{sizeof add, STRIA_ATOMIC_FETCH_ADD, key, 0, 1, 0, &before, nullptr, nullptr};
  EXPECT_EQ(stria_atomic_wait(self, &add), STRIA_OK) << stria_last_error();
  EXPECT_EQ(before, 41u);
  const stria_rma_t rma{&before, nullptr, sizeof before, key, 0, nullptr, nullptr};
  EXPECT_EQ(stria_get_wait(self, &rma), STRIA_OK);
  EXPECT_EQ(before, 42u);
  before = 7;
  EXPECT_EQ(stria_put_wait(self, &rma), STRIA_OK);
  EXPECT_EQ(word, 7u);
  stria_key_close(key);
  EXPECT_EQ(stria_region_deregister(region), STRIA_OK);
}

}  // namespace
}  // namespace stria::test
