// Inside a callback: calls that would wait, close or deregister are refused, in every thread mode, and
// another thread may wait meanwhile.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "tests/api/explained.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

/// A worker that a thread mode is tried on, with a message to itself whose receive calls back.
class InCallback : public testing::TestWithParam<stria_thread_mode_t> {
 protected:
  InCallback() {
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "fake", "test"), STRIA_OK);
    EXPECT_EQ(stria_context_open(nullptr, &context_), STRIA_OK);
    const stria_worker_params_t params{sizeof params, GetParam()};
    EXPECT_EQ(stria_worker_open(context_, &params, &worker_), STRIA_OK);
    char address[STRIA_ADDRESS_MAX];
    std::size_t bytes = sizeof address;
    EXPECT_EQ(stria_worker_address(worker_, address, &bytes), STRIA_OK);
    const stria_endpoint_params_t to{sizeof to, address, bytes, STRIA_CLASS_DEFAULT, nullptr};
    EXPECT_EQ(stria_endpoint_open(worker_, &to, &self_), STRIA_OK);
    EXPECT_EQ(
        stria_region_register(worker_, memory_, nullptr, sizeof memory_, STRIA_ACCESS_REMOTE_READ, &region_),
        STRIA_OK);
  }
  ~InCallback() override {
    EXPECT_EQ(stria_region_deregister(region_), STRIA_OK);
    EXPECT_EQ(stria_endpoint_close(self_), STRIA_OK);
    EXPECT_EQ(stria_context_close(context_), STRIA_ERR_INVALID) << "its worker is open";
    EXPECT_NE(std::string(stria_last_error()).find("1 of its workers is open"), std::string::npos);
    EXPECT_EQ(stria_worker_close(worker_), STRIA_OK);
    EXPECT_EQ(stria_context_close(context_), STRIA_OK);
  }
  /// Runs `what` in the callback of a receive, of a message to the worker itself.
  void in_callback(std::function<void()> what) {
    struct Call {
      std::function<void()> what;
      std::atomic<bool> called{false};
    } call{std::move(what)};
    char byte = 1, got = 0;
    stria_recv_t recv{};
    recv.base = &got;
    recv.count = 1;
    recv.user = &call;
    recv.callback = [](stria_request_t*, const stria_info_t*, void* user) {
      static_cast<Call*>(user)->what();
      static_cast<Call*>(user)->called = true;
    };
    stria_request_t receiving, sending;
    ASSERT_EQ(stria_recv(worker_, &recv, &receiving), STRIA_IN_PROGRESS);
    stria_send_t send{};
    send.base = &byte;
    send.count = 1;
    ASSERT_GE(stria_send(self_, &send, &sending), STRIA_OK);
    ASSERT_EQ(stria_request_wait(worker_, &receiving, nullptr), STRIA_OK);
    ASSERT_EQ(stria_request_wait(worker_, &sending, nullptr), STRIA_OK);
    ASSERT_TRUE(call.called);
  }
  stria_context_t* context_ = nullptr;
  stria_worker_t* worker_ = nullptr;
  stria_endpoint_t* self_ = nullptr;
  stria_region_t* region_ = nullptr;
  char memory_[64] = {};
};

TEST_P(InCallback, what_would_wait_or_close_is_refused) {
  stria_request_t never;
  stria_recv_t recv{};
  recv.match.tag = 99;
  ASSERT_EQ(stria_recv(worker_, &recv, &never), STRIA_IN_PROGRESS);
  in_callback([&] {
    const stria_send_t send{};
    const stria_rma_t rma{};
    const stria_atomic_t atomic{};
    const auto refused = [](stria_status_t answer, const char* call) {
      EXPECT_EQ(answer, STRIA_ERR_INVALID) << call;
      EXPECT_TRUE(explained(STRIA_ERR_INVALID, {std::string(call) + ": ", "inside a callback"}));
    };
    refused(stria_request_wait(worker_, &never, nullptr), "stria_request_wait");
    refused(stria_worker_wait(worker_, -1), "stria_worker_wait");
    refused(stria_worker_close(worker_), "stria_worker_close");
    refused(stria_endpoint_close(self_), "stria_endpoint_close");
    refused(stria_region_deregister(region_), "stria_region_deregister");
    refused(stria_send_wait(self_, &send), "stria_send_wait");
    refused(stria_recv_wait(worker_, &recv, nullptr), "stria_recv_wait");
    refused(stria_put_wait(self_, &rma), "stria_put_wait");
    refused(stria_get_wait(self_, &rma), "stria_get_wait");
    refused(stria_atomic_wait(self_, &atomic), "stria_atomic_wait");
    EXPECT_EQ(stria_worker_progress(worker_), 0u);
  });
  // Also in one that a cancel runs.
  ASSERT_EQ(stria_request_cancel(worker_, &never), STRIA_OK);
  recv.user = worker_;
  recv.callback = [](stria_request_t* request, const stria_info_t*, void* worker) {
    EXPECT_EQ(stria_request_wait(static_cast<stria_worker_t*>(worker), request, nullptr), STRIA_ERR_INVALID);
  };
  ASSERT_EQ(stria_recv(worker_, &recv, &never), STRIA_IN_PROGRESS);
  ASSERT_EQ(stria_request_cancel(worker_, &never), STRIA_OK);
  EXPECT_EQ(stria_worker_wait(worker_, 0) < STRIA_OK, false) << "outside it is allowed";
}

TEST_P(InCallback, of_a_close_as_well) {
  stria_worker_t* closed = nullptr;
  const stria_worker_params_t params{sizeof params, GetParam()};
  ASSERT_EQ(stria_worker_open(context_, &params, &closed), STRIA_OK);
  struct Call {
    stria_worker_t* worker;
    stria_request_t never;
    int ended = 0;
  } call{closed, {}, 0};
  stria_recv_t recv{};
  recv.match.tag = 1;
  recv.user = &call;
  recv.callback = [](stria_request_t*, const stria_info_t* info, void* user) {
    Call& mine = *static_cast<Call*>(user);
    EXPECT_EQ(info->status, STRIA_ERR_CANCELLED);
    EXPECT_EQ(stria_request_wait(mine.worker, &mine.never, nullptr), STRIA_ERR_INVALID);
    EXPECT_EQ(stria_worker_wait(mine.worker, -1), STRIA_ERR_INVALID);
    EXPECT_EQ(stria_worker_close(mine.worker), STRIA_ERR_INVALID);
    ++mine.ended;
  };
  stria_request_t first;
  ASSERT_EQ(stria_recv(closed, &recv, &first), STRIA_IN_PROGRESS);
  recv.callback = nullptr;
  ASSERT_EQ(stria_recv(closed, &recv, &call.never), STRIA_IN_PROGRESS);
  EXPECT_EQ(stria_worker_close(closed), STRIA_OK);
  EXPECT_EQ(call.ended, 1);
}

class InSharedCallback : public InCallback {};

TEST_P(InSharedCallback, another_thread_may_wait_meanwhile) {
  stria_request_t later;
  stria_recv_t recv{};
  recv.match.tag = 98;
  ASSERT_EQ(stria_recv(worker_, &recv, &later), STRIA_IN_PROGRESS);
  std::atomic<int> waits{0};
  std::thread other;
  in_callback([&] {
    other = std::thread([&] {
      waits = 1;
      EXPECT_EQ(stria_request_wait(worker_, &later, nullptr), STRIA_OK) << stria_last_error();
    });
    while (waits == 0) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
  });
  stria_send_t send{};
  send.tag = 98;
  EXPECT_EQ(stria_send_wait(self_, &send), STRIA_OK);
  other.join();
}

INSTANTIATE_TEST_SUITE_P(Modes, InCallback,
                         testing::Values(STRIA_THREAD_SINGLE, STRIA_THREAD_SERIALIZED, STRIA_THREAD_MULTIPLE),
                         [](const auto& mode) {
                           return mode.param == STRIA_THREAD_SINGLE       ? "single"
                                  : mode.param == STRIA_THREAD_SERIALIZED ? "serialized"
                                                                          : "multiple";
                         });

INSTANTIATE_TEST_SUITE_P(Modes, InSharedCallback, testing::Values(STRIA_THREAD_MULTIPLE));

}  // namespace
}  // namespace stria::test
