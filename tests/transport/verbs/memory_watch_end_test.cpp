// The end of a memory watch while memory is given back. Its thread frees what it was started with when it
// reads no more events; whoever holds the allocator's lock then may be in a call that waits for one to be
// read. Here operator delete stands for that lock: the thread gets it when another one's munmap returned.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "transport/services.hpp"
#include "transport/verbs/memory_watch.hpp"

namespace {

std::atomic<bool> is_closing{false};   // the watch
std::atomic<bool> is_waiting{false};   // its thread, for the lock
std::atomic<bool> is_unmapped{false};  // so the lock is free
std::atomic<bool> gave_up{false};
thread_local bool is_of_the_test = false;

template <class Done>
bool wait_for(Done done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return done();
}

void release(void* memory) noexcept {
  if (is_closing.load() && !is_of_the_test) {
    is_waiting.store(true);
    if (!wait_for([] { return is_unmapped.load(); })) gave_up.store(true);
  }
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}

namespace stria::verbs::test {
namespace {

TEST(MemoryWatchThatEnds, keeps_nobody_who_gives_memory_back_waiting) {
  is_of_the_test = true;
  auto watch = MemoryWatch::get(MemoryWatch::Source::kernel, transport::services());
  if (watch == nullptr) GTEST_SKIP() << "this system allows no userfaultfd";
  constexpr std::size_t kBytes = 64 * 4096;
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  ASSERT_NE(watch->add(begin, begin + kBytes), MemoryWatch::kNone);
  std::thread holder([&] {
    is_of_the_test = true;
    EXPECT_TRUE(wait_for([] { return is_waiting.load(); }));
    EXPECT_EQ(::munmap(memory, kBytes), 0);
    is_unmapped.store(true);
  });
  is_closing.store(true);
  watch.reset();
  is_closing.store(false);
  holder.join();
  EXPECT_FALSE(gave_up.load()) << "the event of the munmap was read by nobody";
}

}  // namespace
}  // namespace stria::verbs::test
