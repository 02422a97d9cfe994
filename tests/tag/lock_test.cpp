// The lock of a shared worker: one thread at a time, recursive, and nobody waits for ever.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tag/lock.hpp"

namespace stria::tag {
namespace {

TEST(WorkerLock, lets_one_thread_in_at_a_time) {
  WorkerLock lock;
  lock.enable(true);
  constexpr int kThreads = 4, kTurns = 20000;
  std::uint64_t count = 0, entered = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < kTurns; ++turn) {
        if ((turn + i) % 3 == 0 && !lock.try_lock()) {
          lock.lock();
        } else if ((turn + i) % 3 != 0) {
          lock.lock();
        }
        EXPECT_EQ(entered++, 0u);
        lock.lock();  // as a callback does
        EXPECT_FALSE(lock.enter()) << "a scope inside has nothing to give back";
        ++count;
        lock.unlock();
        --entered;
        lock.unlock();
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, std::uint64_t{kThreads} * kTurns);
}

TEST(WorkerLock, is_given_back_by_the_scope_that_took_it) {
  WorkerLock lock;
  lock.enable(true);
  ASSERT_TRUE(lock.enter());
  lock.lock();  // inside of the scope
  lock.unlock();
  EXPECT_FALSE(lock.enter_to_look());
  std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.leave();
  std::thread([&] {
    EXPECT_TRUE(lock.enter_to_look());
    lock.leave();
  }).join();
}

TEST(WorkerLock, is_refused_while_another_thread_has_it) {
  WorkerLock lock;
  lock.enable(true);
  lock.lock();
  std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  EXPECT_TRUE(lock.try_lock()) << "by its owner";
  lock.unlock();
  std::thread([&] { EXPECT_FALSE(lock.try_lock()) << "held once more"; }).join();
  lock.unlock();
  std::thread([&] {
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  }).join();
}

TEST(WorkerLock, comes_to_a_thread_that_waits_while_others_take_it_all_the_time) {
  WorkerLock lock;
  lock.enable(true);
  std::atomic<bool> stop{false};
  std::vector<std::thread> hogs;
  for (int i = 0; i < 2; ++i)
    hogs.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        lock.lock();
        lock.unlock();
      }
    });
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(120);
  int turns = 0;
  for (; turns < 200 && Clock::now() < until; ++turns) {
    lock.lock();
    lock.unlock();
  }
  stop = true;
  for (auto& hog : hogs) hog.join();
  EXPECT_EQ(turns, 200);
}

// How soon depends on whether each of them has a processor: that it comes at all does not.
TEST(WorkerLock, comes_to_a_thread_that_works_while_another_only_looks) {
  WorkerLock lock;
  lock.enable(true);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> looks{0};
  std::thread looker([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      if (!lock.try_lock()) continue;
      looks.fetch_add(1, std::memory_order_relaxed);
      for (int i = 0; i < 4; ++i) cpu_relax();  // it has the lock for most of the time
      lock.unlock();
    }
  });
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(60);
  int turns = 0;
  for (; turns < 200 && Clock::now() < until; ++turns) {
    for (const std::uint64_t some = looks.load() + 20; looks.load() < some;) std::this_thread::yield();
    lock.lock();
    lock.unlock();
  }
  stop = true;
  looker.join();
  EXPECT_EQ(turns, 200);
}

TEST(WorkerLock, costs_nothing_where_nobody_shares) {
  WorkerLock lock;
  lock.lock();
  std::thread([&] { EXPECT_TRUE(lock.try_lock()); }).join();
}

}  // namespace
}  // namespace stria::tag
