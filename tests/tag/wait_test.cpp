// A thread that sleeps in wait, or on the worker's descriptor, hears of everything in time: of each device,
// of what other threads of the process leave to it, and of what they take from it. The liveness interval, at
// which a sleeper looks by itself, is longer than any of these tests may take.
#include <poll.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/tag/shm_team.hpp"
#include "tests/tag/world.hpp"

namespace stria::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSoon = std::chrono::seconds(30);
constexpr int kSoonMs = 30000, kLongMs = 60000;
constexpr auto kLater = std::chrono::milliseconds(50);  // by then a sleeper mostly sleeps
constexpr auto kAgain = std::chrono::milliseconds(100);
constexpr unsigned kTries = 600;  // a minute of them

/// Two workers that reach each other through the fake provider; the first also has a shm device, and is
/// shared by threads.
class Wait : public testing::Test {
 protected:
  Wait() {
    fake::FabricOptions options;
    options.delay = 0;
    options.queue = 1;
    fabric_ = fake::make_fabric(options);
    const fake::UseFabric use(fabric_);
    set("STRIA_LIVENESS_MS", "300000");
    set("STRIA_CLOSE_TIMEOUT_MS", "5");
    set("STRIA_PROVIDERS", "shm,fake");
    open(0, STRIA_THREAD_MULTIPLE);
    set("STRIA_PROVIDERS", "fake");
    open(1, STRIA_THREAD_SINGLE);
    for (unsigned i = 0; i < 2; ++i) {
      char address[STRIA_ADDRESS_MAX];
      size_t bytes = sizeof(address);
      EXPECT_EQ(stria_worker_address(workers_[1 - i], address, &bytes), STRIA_OK);
      stria_endpoint_params_t params{};
      params.size = sizeof(params);
      params.address = address;
      params.address_bytes = bytes;
      EXPECT_EQ(stria_endpoint_open(workers_[i], &params, &endpoints_[i]), STRIA_OK);
    }
  }
  ~Wait() override {
    for (auto* worker : workers_) stria_worker_close(worker);
    for (auto* context : contexts_) stria_context_close(context);
    set("STRIA_LIVENESS_MS", "500");
  }
  static void set(const char* name, const char* value) {
    ASSERT_EQ(stria_config_set(name, value, "test"), STRIA_OK) << stria_last_error();
  }
  void open(unsigned rank, stria_thread_mode_t mode) {
    stria_worker_params_t params{};
    params.size = sizeof(params);
    params.thread_mode = mode;
    ASSERT_EQ(stria_context_open(nullptr, &contexts_[rank]), STRIA_OK) << stria_last_error();
    ASSERT_EQ(stria_worker_open(contexts_[rank], &params, &workers_[rank]), STRIA_OK) << stria_last_error();
  }
  stria_status_t send(unsigned from) {
    static const char byte = 1;
    stria_send_t send{};
    send.base = &byte;
    send.count = 1;
    send.tag = 1;
    return stria_send(endpoints_[from], &send, &requests_.at(next_++));
  }
  /// The last send, which found no room, has left.
  void finish_last(unsigned from) {
    while (stria_request_test(&requests_[next_ - 1], nullptr) == STRIA_IN_PROGRESS)
      stria_worker_progress(workers_[from]);
  }
  std::uint64_t arrived(unsigned rank) {
    stria_counters_t counters{};
    counters.size = sizeof(counters);
    EXPECT_EQ(stria_worker_counters(workers_[rank], &counters), STRIA_OK);
    return counters.unexpected_messages;
  }

  std::shared_ptr<fake::Fabric> fabric_;
  stria_context_t* contexts_[2] = {};
  stria_worker_t* workers_[2] = {};
  stria_endpoint_t* endpoints_[2] = {};
  std::array<stria_request_t, 2 * kTries> requests_;
  std::atomic<unsigned> next_{0};
};

TEST_F(Wait, hears_of_what_comes_by_a_device_that_is_not_the_first) {
  ASSERT_EQ(stria_worker_progress(workers_[0]), 0u);
  std::thread peer([&] {
    std::this_thread::sleep_for(kLater);
    EXPECT_EQ(send(1), STRIA_OK);
  });
  const auto begin = Clock::now();
  EXPECT_EQ(stria_worker_wait(workers_[0], kLongMs), STRIA_OK);
  EXPECT_LT(Clock::now() - begin, kSoon);
  peer.join();
}

TEST_F(Wait, the_descriptor_given_to_the_caller_covers_all_devices_and_the_other_threads) {
  int fd = -1;
  ASSERT_EQ(stria_worker_event_fd(workers_[0], &fd), STRIA_OK);
  const auto is_readable = [&](int timeout_ms) {
    pollfd entry{fd, POLLIN, 0};
    return ::poll(&entry, 1, timeout_ms) == 1;
  };
  const auto arm = [&] {
    for (int i = 0; i < 100 && stria_worker_arm(workers_[0]) != STRIA_OK; ++i)
      stria_worker_progress(workers_[0]);
    EXPECT_FALSE(is_readable(0));
  };
  arm();
  EXPECT_EQ(send(1), STRIA_OK);
  EXPECT_TRUE(is_readable(kSoonMs)) << "the second device";
  arm();
  std::thread([&] {
    static_cast<void>(send(0));
    EXPECT_EQ(send(0), STRIA_IN_PROGRESS);  // the queue holds one packet
  }).join();
  EXPECT_TRUE(is_readable(kSoonMs)) << "another thread's backlog";
  for (int i = 0; i < 10; ++i) {
    stria_worker_progress(workers_[1]);
    stria_worker_progress(workers_[0]);
  }
  arm();
}

TEST_F(Wait, hears_of_a_backlog_that_another_thread_leaves) {
  std::atomic<bool> stop{false};
  std::thread sleeper([&] {
    while (!stop) static_cast<void>(stria_worker_wait(workers_[0], kLongMs));
  });
  std::this_thread::sleep_for(kLater);
  for (int i = 0; i < 5; ++i) ASSERT_GE(send(0), 0);
  const auto begin = Clock::now();
  while (arrived(1) < 5 && Clock::now() - begin < kSoon) stria_worker_progress(workers_[1]);
  EXPECT_EQ(arrived(1), 5u);
  stop = true;
  const stria_status_t last = send(1);  // ends the last wait
  EXPECT_GE(last, 0);
  if (last == STRIA_IN_PROGRESS) finish_last(1);
  sleeper.join();
}

TEST_F(Wait, hears_what_comes_after_another_thread_made_progress) {
  std::atomic<bool> awake{false};
  std::thread sleeper([&] {
    EXPECT_EQ(stria_worker_wait(workers_[0], kLongMs), STRIA_OK);
    awake = true;
  });
  std::this_thread::sleep_for(kLater);
  for (int i = 0; i < 100; ++i) stria_worker_progress(workers_[0]);  // takes the sleeper's arming away
  std::this_thread::sleep_for(kLater);
  ASSERT_FALSE(awake);
  ASSERT_EQ(send(1), STRIA_OK);
  const auto begin = Clock::now();
  while (!awake && Clock::now() - begin < kSoon) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(awake);
  if (!awake) stria_worker_progress(workers_[0]);
  sleeper.join();
}

TEST_F(Wait, hears_what_another_thread_handled) {
  std::atomic<bool> awake{false};
  std::atomic<bool> stop{false};
  std::thread sleeper([&] {
    EXPECT_EQ(stria_worker_wait(workers_[0], kLongMs), STRIA_OK);
    awake = true;
  });
  std::thread poller([&] {
    while (!stop) stria_worker_progress(workers_[0]);
  });
  std::this_thread::sleep_for(kLater);
  EXPECT_FALSE(awake);
  // What the poller handled before the sleeper's wait has begun is no reason to wake: then the next one is.
  for (unsigned i = 0; i < kTries && !awake; ++i) {
    EXPECT_GE(send(1), STRIA_OK);
    const auto begin = Clock::now();
    while (!awake && Clock::now() - begin < kAgain) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(awake);
  stop = true;
  poller.join();
  sleeper.join();
}

TEST_F(Wait, is_over_when_another_thread_cancels_the_request_it_is_for) {
  char room[8];
  stria_recv_t recv{};
  recv.base = room;
  recv.count = sizeof(room);
  for (unsigned i = 0; i < kTries; ++i)
    ASSERT_EQ(stria_recv(workers_[0], &recv, &requests_.at(i)), STRIA_IN_PROGRESS);
  std::atomic<bool> awake{false};
  // A request that ends before the wait has begun is no reason to wake: then the next one is.
  std::thread other([&] {
    for (unsigned i = 0; i < kTries && !awake; ++i) {
      std::this_thread::sleep_for(i == 0 ? kLater : kAgain);
      EXPECT_EQ(stria_request_cancel(workers_[0], &requests_.at(i)), STRIA_OK);
    }
  });
  const auto begin = Clock::now();
  EXPECT_EQ(stria_worker_wait(workers_[0], kLongMs), STRIA_OK);
  EXPECT_LT(Clock::now() - begin, kSoon);
  awake = true;
  other.join();
}

TEST(WaitForTheDead, is_over_when_a_liveness_check_ends_requests) {
  fake::FabricOptions options;
  options.delay = 0;
  options.death_seen_by_check_only = true;
  World world(2, options, {{{"STRIA_LIVENESS_MS", "10"}}});
  char room[8] = {};
  Op warm, recv;
  world.send(warm, 0, 1, 1, room, 1);
  for (int i = 0; i < 20; ++i) world.step();
  ASSERT_EQ(world.recv(recv, 0, 1, 5, 0, room, 8), STRIA_IN_PROGRESS);
  world.kill(1, fake::Loss::none);
  EXPECT_EQ(stria_worker_wait(world.worker(0), kSoonMs), STRIA_OK);
  EXPECT_EQ(recv.callbacks, 1);
  EXPECT_EQ(stria_config_set("STRIA_LIVENESS_MS", "500", "test"), STRIA_OK);
}

}  // namespace
}  // namespace stria::test
