// A device without traffic sleeps: it makes no system call, and a connection, a packet or the end of a peer
// wakes it.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

#include "tests/rounds.hpp"
#include "tests/transport/tcp/device_rig.hpp"
#include "transport/tcp/kernel_queue.hpp"
#include "transport/tcp/wakeup.hpp"

namespace stria::tcp {
namespace {

constexpr int kQuietCalls =
    4000;  // more than a device makes before it sleeps, also with links that had traffic

void let_sleep(std::initializer_list<Peer*> devices) {
  for (int i = 0; i < kQuietCalls; ++i) {
    for (Peer* device : devices) EXPECT_EQ(device->progress(), 0u);
  }
}

struct TcpSleep : testing::TestWithParam<const char*> {
  TcpSleep() { ::setenv("STRIA_TCP_ENGINE", GetParam(), 1); }
  ~TcpSleep() override { ::unsetenv("STRIA_TCP_ENGINE"); }
  void SetUp() override {
    if (std::string_view(GetParam()) == "epoll") return;
    const UniqueFd any(::dup(0));  // two devices need a ring of each kind
    const auto first = Wakeup::open(any.get()), second = Wakeup::open(any.get());
    if (!second) GTEST_SKIP() << second.error().context;
    const auto third = KernelQueue::open(), fourth = KernelQueue::open();
    if (!fourth) GTEST_SKIP() << fourth.error().context;
  }
};

TEST_P(TcpSleep, ends_by_a_connection_a_packet_and_the_end_of_a_peer) {
  Peer sleeper(tcp_provider(), 1);
  auto other = std::make_unique<Peer>(tcp_provider(), 2);
  let_sleep({&sleeper});
  stria_link_t* const link = other->connect(sleeper);
  for (std::size_t i = 1; i <= 3; ++i) {
    const contract::Bytes data = contract::pattern(i, 300 * i);
    ASSERT_EQ(contract::send({&sleeper, other.get()}, *other, link, contract::Path::buffered,
                             contract::header(1), data),
              Status::ok);
    ASSERT_TRUE(drive({&sleeper, other.get()}, [&] { return sleeper.received.size() == i; }));
    EXPECT_EQ(sleeper.received.back().payload, data);
    let_sleep({&sleeper, other.get()});
  }
  other.reset();
  EXPECT_TRUE(drive({&sleeper}, [&] { return sleeper.downs.size() == 1; }));
}

TEST_P(TcpSleep, ends_for_all_that_came_when_a_call_takes_one_at_a_time) {
  constexpr std::size_t kCount = 20;
  Peer sleeper(tcp_provider(), 1), other(tcp_provider(), 2);
  stria_link_t* const link = other.connect(sleeper);
  ASSERT_EQ(
      contract::send({&sleeper, &other}, other, link, contract::Path::buffered, contract::header(1), {}),
      Status::ok);
  ASSERT_TRUE(drive({&sleeper, &other}, [&] { return sleeper.received.size() == 1; }));
  // Several pieces of a get that the kernel reads by itself, and packets.
  const contract::Bytes remote = contract::pattern(1, 3 << 20);
  contract::Bytes local(remote.size());
  stria_provider_key_t key{};
  ASSERT_EQ(other.fast_register(contract::contiguous(remote), STRIA_ACCESS_REMOTE_READ, key, link),
            Status::ok);
  for (int round = 0; round < 3; ++round) {
    contract::Ending ending;
    ASSERT_EQ(sleeper.get(sleeper.ups[2], contract::contiguous(local), key, 0, ending), Status::in_progress);
    if (round == 0) {
      ASSERT_TRUE(drive({&sleeper, &other}, [&] { return ending.calls > 0; }));
    }
    const std::size_t before = sleeper.received.size();
    for (int i = 0; i < kQuietCalls; ++i) sleeper.progress(1);
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(contract::send({&other}, other, link, contract::Path::buffered, contract::header(1), {}),
                Status::ok);
    }
    const auto is_done = [&] { return ending.calls > 0 && sleeper.received.size() == before + kCount; };
    const std::uint64_t limit = now_ms() + 60000;
    while (!is_done() && now_ms() < limit) {  // without a check, which would wake it
      other.progress();
      sleeper.progress(1);
    }
    EXPECT_EQ(ending.status, Status::ok);
    EXPECT_EQ(sleeper.received.size(), before + kCount);
  }
}

TEST_P(TcpSleep, ends_by_what_it_does_itself) {
  Peer sleeper(tcp_provider(), 1), other(tcp_provider(), 2);
  let_sleep({&sleeper, &other});
  stria_link_t* const link = sleeper.connect(other);
  const contract::Bytes data = contract::pattern(7, 60000);
  for (std::size_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(contract::send({&sleeper, &other}, sleeper, link, contract::Path::buffered, contract::header(1),
                             data),
              Status::ok);
    ASSERT_TRUE(drive({&sleeper, &other}, [&] { return other.received.size() == i; }));
    let_sleep({&sleeper, &other});
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, TcpSleep, testing::Values("uring", "epoll"),
                         [](const auto& engine) { return std::string(engine.param); });

#ifndef STRIA_TEST_SANITIZED  // a sanitizer calls the system itself
/// From now on any system call but the one that ends the process kills it.
bool forbid_system_calls() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{std::size(steps), steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

TEST(TcpSleepCalls, the_system_not_once) {
  constexpr int kNoFilter = 3, kNoRing = 4;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    {  // In this process: rings of its parent are not its own, and count in what its user may lock of memory.
      const UniqueFd any(::dup(0));
      if (!Wakeup::open(any.get())) ::_exit(kNoRing);
    }
    Peer device(tcp_provider(), 1);
    let_sleep({&device});
    if (!forbid_system_calls()) ::_exit(kNoFilter);
    unsigned handled = 0;
    for (int i = 0; i < kQuietCalls; ++i) handled += device.progress();
    ::_exit(handled == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "no seccomp filter can be set";
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoRing)
    GTEST_SKIP() << "this process gets no ring of io_uring";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}
#endif

}  // namespace
}  // namespace stria::tcp
