// Workers that several threads share, over the real shm provider: what the lock of a worker protects, what a
// lock of the caller does in its place, and what contexts and layouts promise without one. Its other use is
// to be run under ThreadSanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "stria/stria.h"
#include "tests/rounds.hpp"

namespace stria::test {
namespace {

constexpr unsigned kThreads = 3;

stria_endpoint_t* connect(stria_worker_t* from, const stria_worker_t* to) {
  std::array<char, STRIA_ADDRESS_MAX> address;
  std::size_t bytes = address.size();
  EXPECT_EQ(stria_worker_address(to, address.data(), &bytes), STRIA_OK);
  stria_endpoint_params_t params{};
  params.size = sizeof params;
  params.address = address.data();
  params.address_bytes = bytes;
  stria_endpoint_t* out = nullptr;
  EXPECT_EQ(stria_endpoint_open(from, &params, &out), STRIA_OK) << stria_last_error();
  return out;
}

/// Two workers of one process, each for any thread: at any time, or one at a time, which taken() sees to.
class Threads : public ::testing::TestWithParam<stria_thread_mode_t> {
 protected:
  Threads() {
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "shm", "test"), STRIA_OK) << stria_last_error();
    EXPECT_EQ(stria_context_open(nullptr, &context_), STRIA_OK) << stria_last_error();
    stria_worker_params_t params{};
    params.size = sizeof params;
    params.thread_mode = GetParam();
    for (auto& worker : workers_)
      EXPECT_EQ(stria_worker_open(context_, &params, &worker), STRIA_OK) << stria_last_error();
    to_ = {connect(workers_[1], workers_[0]), connect(workers_[0], workers_[1])};
  }
  ~Threads() override {
    std::array<std::thread, 2> closing;  // each drains while the other one still answers
    for (unsigned i = 0; i < 2; ++i) closing[i] = std::thread(stria_worker_close, workers_[i]);
    for (auto& thread : closing) thread.join();
    stria_context_close(context_);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  template <class F>
  static void on_all_threads(F&& body) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back([&body, i] { body(i); });
    for (auto& thread : threads) thread.join();
  }
  /// The workers are this thread's while it lasts; where they lock themselves, it means nothing.
  [[nodiscard]] std::unique_lock<std::mutex> taken() {
    return GetParam() == STRIA_THREAD_SERIALIZED ? std::unique_lock(one_at_a_time_)
                                                 : std::unique_lock<std::mutex>();
  }
  /// Until `request` ended; any thread may have made it end.
  void wait(const stria_request_t& request, stria_info_t& info) {
    const auto ended = [&] {
      const auto lock = taken();
      return stria_request_test(&request, &info) != STRIA_IN_PROGRESS;
    };
    const auto progress = [&](unsigned turn) {
      const auto lock = taken();
      return stria_worker_progress(workers_[turn % 2]);
    };
    for (unsigned turn = 0; !ended(); ++turn)
      if (progress(turn) == 0) std::this_thread::yield();
  }
  stria_status_t recv(unsigned at, const stria_recv_t& args, stria_request_t& request) {
    const auto lock = taken();
    return stria_recv(workers_[at], &args, &request);
  }
  stria_status_t send(unsigned to, const stria_send_t& args, stria_request_t& request) {
    const auto lock = taken();
    return stria_send(to_[to], &args, &request);
  }

  stria_context_t* context_ = nullptr;
  std::array<stria_worker_t*, 2> workers_{};
  std::array<stria_endpoint_t*, 2> to_{};  // [i] leads to workers_[i]

 private:
  std::mutex one_at_a_time_;
};

/// What only a worker that locks itself allows: to use it while another thread sleeps in it.
class Sleepers : public Threads {};

std::string mode_name(const ::testing::TestParamInfo<stria_thread_mode_t>& mode) {
  return mode.param == STRIA_THREAD_SERIALIZED ? "serialized" : "multiple";
}
INSTANTIATE_TEST_SUITE_P(Modes, Threads, ::testing::Values(STRIA_THREAD_MULTIPLE, STRIA_THREAD_SERIALIZED),
                         mode_name);
INSTANTIATE_TEST_SUITE_P(Modes, Sleepers, ::testing::Values(STRIA_THREAD_MULTIPLE), mode_name);

unsigned char pattern(unsigned thread, std::int64_t round, std::size_t i) {
  return static_cast<unsigned char>(thread * 83 + static_cast<std::uint64_t>(round) * 29 + i * 7 + (i >> 8));
}

// Inline, buffered, rendezvous; both ways at once, over one link, with a tag a thread.
TEST_P(Threads, share_two_workers_and_each_gets_its_own_bytes) {
  constexpr std::array<std::size_t, 7> kSizes = {0, 8, 700, 5000, 16385, 70000, 300000};
  const std::int64_t count = rounds(600);
  on_all_threads([&](unsigned me) {
    for (std::int64_t round = 0; round < count; ++round) {
      const std::size_t bytes = kSizes[static_cast<std::size_t>(round + me) % kSizes.size()];
      const unsigned at = static_cast<unsigned>(round) % 2;
      std::vector<unsigned char> data(bytes), room(bytes + 1, 0xee);
      for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(me, round, i);
      stria_request_t receiving, sending;
      stria_info_t received{}, sent{};
      const stria_recv_t receive{room.data(), nullptr, room.size(), {nullptr, me, 0},
                                 nullptr,     nullptr, 0,           nullptr};
      const stria_send_t message{data.data(), nullptr, bytes, me, 0, 0, nullptr, nullptr};
      ASSERT_GE(recv(at, receive, receiving), STRIA_OK);
      const stria_status_t started = send(at, message, sending);
      ASSERT_GE(started, STRIA_OK) << stria_last_error();
      wait(receiving, received);
      if (started == STRIA_IN_PROGRESS) wait(sending, sent);
      ASSERT_EQ(received.status, STRIA_OK);
      ASSERT_EQ(sent.status, STRIA_OK);
      ASSERT_EQ(received.received, bytes);
      ASSERT_TRUE(std::equal(data.begin(), data.end(), room.begin()))
          << "thread " << me << " round " << round;
      ASSERT_EQ(room[bytes], 0xee);
    }
  });
}

/// The engine of the owner performs them, on whatever thread makes it progress.
struct WithoutCma {
  WithoutCma() { EXPECT_EQ(stria_config_set("STRIA_SHM_CMA", "off", "test"), STRIA_OK); }
  ~WithoutCma() { EXPECT_EQ(stria_config_set("STRIA_SHM_CMA", "auto", "test"), STRIA_OK); }
  WithoutCma(const WithoutCma&) = delete;
  WithoutCma& operator=(const WithoutCma&) = delete;
};
class AtomicThreads : WithoutCma, public Threads {};
INSTANTIATE_TEST_SUITE_P(Modes, AtomicThreads,
                         ::testing::Values(STRIA_THREAD_MULTIPLE, STRIA_THREAD_SERIALIZED), mode_name);

// Each thread by both endpoints: one leads to the other worker, which owns the memory, one back.
TEST_P(AtomicThreads, add_up) {
  const std::int64_t count = rounds(2000);
  struct Shared {
    alignas(8) std::uint64_t word = 0;
    stria_region_t* region = nullptr;
    stria_key_t* key = nullptr;
  };
  std::array<Shared, 2> shared;
  for (unsigned i = 0; i < 2; ++i) {  // to_[i] leads to workers_[i]
    std::array<char, STRIA_KEY_MAX> packed;
    std::size_t bytes = packed.size();
    ASSERT_EQ(
        stria_region_register(workers_[i], &shared[i].word, nullptr, 8,
                              STRIA_ACCESS_REMOTE_ATOMIC | STRIA_ACCESS_ATOMIC_WITH_CPU, &shared[i].region),
        STRIA_OK);
    ASSERT_EQ(stria_region_key(shared[i].region, packed.data(), &bytes), STRIA_OK);
    ASSERT_EQ(stria_key_open(to_[i], packed.data(), bytes, &shared[i].key), STRIA_OK);
  }
  std::atomic<std::int64_t> asked{0};
  on_all_threads([&](unsigned me) {
    for (std::int64_t round = 0; round < count; ++round) {
      const unsigned at = static_cast<unsigned>(round + me) % 2;
      std::uint64_t before = 0;
      stria_request_t request;
      stria_info_t info{};
      const stria_atomic_t args{
          sizeof args, STRIA_ATOMIC_FETCH_ADD, shared[at].key, 0, 1, 0, &before, nullptr, nullptr};
      const stria_status_t answer = [&] {
        const auto lock = taken();
        return stria_atomic(to_[at], &args, &request);
      }();
      ASSERT_GE(answer, STRIA_OK) << stria_last_error();
      if (answer == STRIA_IN_PROGRESS) {
        ++asked;
        wait(request, info);
        ASSERT_EQ(info.status, STRIA_OK);
      }
      __atomic_fetch_add(&shared[at].word, 1, __ATOMIC_RELAXED);
    }
  });
  EXPECT_EQ(asked, count * kThreads);
  EXPECT_EQ(shared[0].word + shared[1].word, static_cast<std::uint64_t>(2 * count * kThreads));
  for (const Shared& one : shared) {
    stria_key_close(one.key);
    EXPECT_EQ(stria_region_deregister(one.region), STRIA_OK);
  }
}

// Columns of one matrix: a layout is immutable, and its reference count is any thread's.
TEST_P(Threads, share_one_layout) {
  constexpr std::int64_t kRows = 300;
  stria_layout_t* number = nullptr;
  stria_layout_t* column = nullptr;
  ASSERT_EQ(stria_layout_bytes(8, &number), STRIA_OK);
  ASSERT_EQ(stria_layout_vector(kRows, 1, std::int64_t{8} * kThreads, number, &column), STRIA_OK);
  std::vector<std::uint64_t> from(kRows * kThreads), to(from.size());
  const std::int64_t count = rounds(300);
  on_all_threads([&](unsigned me) {
    for (std::int64_t round = 0; round < count; ++round) {
      for (std::size_t row = 0; row < kRows; ++row)
        from[row * kThreads + me] = row * 1000 + static_cast<std::uint64_t>(round);
      stria_layout_t* mine = stria_layout_retain(column);
      stria_request_t receiving, sending;
      stria_info_t received{}, sent{};
      const stria_recv_t receive{&to[me], mine, 1, {nullptr, me, 0}, nullptr, nullptr, 0, nullptr};
      const stria_send_t message{&from[me], mine, 1, me, 0, STRIA_SEND_SYNCHRONOUS, nullptr, nullptr};
      const stria_status_t started = send(1, message, sending);
      ASSERT_GE(started, STRIA_OK) << stria_last_error();
      ASSERT_GE(recv(1, receive, receiving), STRIA_OK);
      stria_layout_free(mine);
      wait(receiving, received);
      if (started == STRIA_IN_PROGRESS) wait(sending, sent);
      ASSERT_EQ(received.status, STRIA_OK);
      ASSERT_EQ(sent.status, STRIA_OK);
      for (std::size_t row = 0; row < kRows; ++row)
        ASSERT_EQ(to[row * kThreads + me], from[row * kThreads + me]) << "column " << me << " row " << row;
    }
  });
  stria_layout_free(column);
  stria_layout_free(number);
}

// One thread sleeps in the worker, others fill it.
TEST_P(Sleepers, wake_the_one_that_sleeps_in_wait) {
  const std::int64_t count = rounds(100) * kThreads;
  std::atomic<std::int64_t> left = count;
  on_all_threads([&](unsigned me) {
    if (me != 0) {
      for (std::int64_t round = me; round <= count; round += kThreads - 1) {
        stria_request_t sending;
        stria_info_t sent{};
        const stria_send_t send{&round, nullptr, sizeof round, 7, 0, 0, nullptr, nullptr};
        const stria_status_t started = stria_send(to_[1], &send, &sending);
        ASSERT_GE(started, STRIA_OK) << stria_last_error();
        while (started == STRIA_IN_PROGRESS && stria_request_test(&sending, &sent) == STRIA_IN_PROGRESS)
          stria_worker_wait(workers_[0], 10);
        if (round % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
      return;
    }
    std::int64_t sum = 0;
    for (; left > 0; --left) {
      std::int64_t got = 0;
      stria_request_t receiving;
      stria_info_t received{};
      const stria_recv_t recv{&got, nullptr, sizeof got, {nullptr, 7, 0}, nullptr, nullptr, 0, nullptr};
      ASSERT_GE(stria_recv(workers_[1], &recv, &receiving), STRIA_OK);
      const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (stria_request_test(&receiving, &received) == STRIA_IN_PROGRESS) {
        stria_worker_wait(workers_[1], 1000);
        ASSERT_LT(std::chrono::steady_clock::now(), patience) << left.load() << " messages missing";
      }
      sum += got;
    }
    EXPECT_EQ(sum, count * (count + 1) / 2);
  });
  EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace stria::test
