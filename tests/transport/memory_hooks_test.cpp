// Memory that goes away, from the application's hooks to those who watch: when hooks are installed and
// removed, and that nobody is called who does not watch any more.
#include "transport/memory_hooks.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "transport/services.hpp"

namespace stria::transport {
namespace {

int installed = 0;
stria_status_t answer = STRIA_OK;

/// Counts what it is told.
struct Listener {
  std::atomic<std::uint64_t> calls{0}, bytes{0};
  std::atomic<bool> holds{false}, inside{false};
  static void released(void* self, const void* /*memory*/, std::uint64_t bytes) {
    auto& me = *static_cast<Listener*>(self);
    me.inside.store(true);
    while (me.holds.load()) std::this_thread::yield();
    me.calls.fetch_add(1);
    me.bytes.fetch_add(bytes);
    me.inside.store(false);
  }
  bool watch() { return services().watch_memory(&Listener::released, this) == 1; }
  void unwatch() { services().unwatch_memory(&Listener::released, this); }
};

class Hooks : public testing::Test {
 protected:
  Hooks() {
    installed = 0;
    answer = STRIA_OK;
    EXPECT_TRUE(set_memory_hooks(&hooks));
  }
  ~Hooks() override { EXPECT_TRUE(set_memory_hooks(nullptr)); }
  stria_memory_hooks_t hooks{sizeof hooks,
                             [] {
                               installed += answer == STRIA_OK ? 1 : 0;
                               return answer;
                             },
                             [] { --installed; }};
  char memory[64]{};
};

TEST_F(Hooks, are_installed_with_the_first_who_watches_and_removed_with_the_last) {
  Listener a, b;
  EXPECT_EQ(installed, 0);
  ASSERT_TRUE(a.watch());
  EXPECT_EQ(installed, 1);
  ASSERT_TRUE(b.watch());
  EXPECT_EQ(installed, 1);
  memory_released(memory, 10);
  EXPECT_EQ(a.bytes, 10u);
  EXPECT_EQ(b.bytes, 10u);
  a.unwatch();
  EXPECT_EQ(installed, 1);
  memory_released(memory, 5);
  EXPECT_EQ(a.bytes, 10u) << "it does not watch any more";
  EXPECT_EQ(b.bytes, 15u);
  b.unwatch();
  EXPECT_EQ(installed, 0);
  b.unwatch();
  EXPECT_EQ(installed, 0) << "it watched no more";
  memory_released(memory, 5);
  EXPECT_EQ(b.bytes, 15u);
}

TEST_F(Hooks, that_refuse_are_told_of_and_nobody_watches) {
  answer = STRIA_ERR_UNSUPPORTED;
  Listener a;
  EXPECT_FALSE(a.watch());
  memory_released(memory, 10);
  EXPECT_EQ(a.calls, 0u);
  EXPECT_TRUE(set_memory_hooks(nullptr)) << "nobody relies on them";
  EXPECT_FALSE(a.watch()) << "there are none";
}

TEST_F(Hooks, are_not_exchanged_under_those_who_rely_on_them) {
  Listener a;
  ASSERT_TRUE(a.watch());
  EXPECT_FALSE(set_memory_hooks(nullptr));
  EXPECT_FALSE(set_memory_hooks(&hooks));
  memory_released(memory, 10);
  EXPECT_EQ(a.calls, 1u);
  a.unwatch();
}

TEST_F(Hooks, without_a_function_or_of_another_size_are_refused) {
  for (int fault = 0; fault < 3; ++fault) {
    stria_memory_hooks_t wrong = hooks;
    if (fault == 0) wrong.install = nullptr;
    if (fault == 1) wrong.remove = nullptr;
    if (fault == 2) wrong.size = 8;
    const auto set = set_memory_hooks(&wrong);
    ASSERT_FALSE(set) << fault;
    EXPECT_EQ(set.error().status, Status::invalid);
  }
  Listener a;
  EXPECT_TRUE(a.watch()) << "those of before are still there";
  a.unwatch();
}

TEST_F(Hooks, one_watcher_too_many_is_refused_and_the_others_are_told) {
  std::vector<Listener> listeners(17);
  for (std::size_t i = 0; i < 16; ++i) ASSERT_TRUE(listeners[i].watch()) << i;
  EXPECT_FALSE(listeners[16].watch());
  memory_released(memory, 10);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(listeners[i].calls, 1u) << i;
  EXPECT_EQ(listeners[16].calls, 0u);
  for (Listener& one : listeners) one.unwatch();
  EXPECT_EQ(installed, 0);
}

TEST_F(Hooks, whoever_stops_to_watch_waits_for_a_call_under_way) {
  Listener a;
  ASSERT_TRUE(a.watch());
  a.holds.store(true);
  std::thread caller([&] { memory_released(memory, 1); });
  while (!a.inside.load()) std::this_thread::yield();
  std::atomic<bool> is_out{false};
  std::thread leaver([&] {
    a.unwatch();
    is_out.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(is_out.load()) << "the listener would be gone under the call";
  a.holds.store(false);
  leaver.join();
  caller.join();
  EXPECT_EQ(a.calls, 1u);
}

}  // namespace
}  // namespace stria::transport
