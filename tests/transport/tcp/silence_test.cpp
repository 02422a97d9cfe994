// A host that does not answer any more, and what only looks like one. The network is the loopback interface
// of a network namespace of the test's own, which is switched off.
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "tests/transport/tcp/device_rig.hpp"
#include "tests/transport/tcp/socket_pair.hpp"
#include "transport/tcp/silence.hpp"

namespace stria::tcp {
namespace {

constexpr std::uint64_t kLimitMs = 1000;
constexpr int kNoNetwork = 77;

bool switch_network(bool on) {
  const UniqueFd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  if (::ioctl(any.get(), SIOCGIFFLAGS, &request) != 0) return false;
  request.ifr_flags = static_cast<short>(on ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
  return ::ioctl(any.get(), SIOCSIFFLAGS, &request) == 0;
}

/// Two devices with a link, in a process with a network of its own.
struct Pair {
  Peer one{tcp_provider(), 1}, other{tcp_provider(), 2};
  stria_link_t* link = one.connect(other);
  std::uint16_t sent = 0;
  Pair() { send(); }
  Status try_send(std::size_t bytes) {
    const Status status = one.try_send(link, contract::Path::buffered, contract::header(sent),
                                       contract::pattern(sent, bytes).data(), bytes);
    if (status == Status::ok) ++sent;
    return status;
  }
  void send() {
    EXPECT_TRUE(drive({&one, &other}, [&] { return try_send(500) == Status::ok; }));
    EXPECT_TRUE(drive({&one, &other}, [&] { return other.received.size() == sent; }));
  }
  void expect_all(std::size_t bytes) {
    EXPECT_TRUE(drive({&one, &other}, [&] { return other.received.size() == sent; }));
    for (std::uint16_t i = 1; i < other.received.size(); ++i)
      ASSERT_EQ(other.received[i].payload, contract::pattern(i, bytes)) << i;
  }
  /// Lets time go by, in which the devices make progress and are checked.
  void live(std::uint64_t ms, std::initializer_list<Peer*> devices) {
    for (const std::uint64_t end = now_ms() + ms; now_ms() < end && one.downs.empty();) {
      for (Peer* device : devices) {
        device->progress();
        device->check();
      }
      ::usleep(1000);
    }
  }
};

/// Runs in a process of its own, and hands its failures on by its exit code.
void in_own_network(std::uint64_t limit_ms, const std::function<void()>& test) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::setenv("STRIA_TCP_SILENT_MS", std::to_string(limit_ms).c_str(), 1);
    if (::unshare(CLONE_NEWNET) != 0 || !switch_network(true)) ::_exit(kNoNetwork);
    test();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNetwork)
    GTEST_SKIP() << "no network namespace can be made";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the test's process says why: " << status;
}

TEST(TcpSilence, of_a_host_that_owes_an_answer_ends_the_link_within_the_limit) {
  in_own_network(kLimitMs, [] {
    Pair pair;
    EXPECT_TRUE(switch_network(false));
    EXPECT_EQ(pair.try_send(500), Status::ok);
    const std::uint64_t begun = now_ms();
    pair.live(20 * kLimitMs, {&pair.one, &pair.other});
    ASSERT_EQ(pair.one.downs.size(), 1u);
    EXPECT_EQ(pair.one.downs.front()->why, Status::peer_failed);
    EXPECT_GE(now_ms() - begun, kLimitMs);
  });
}

TEST(TcpSilence, of_a_host_that_owes_nothing_is_found_by_the_system_and_told) {
  in_own_network(kLimitMs, [] {
    Pair pair;
    pair.live(kLimitMs / 5, {&pair.one, &pair.other});  // all is acknowledged
    EXPECT_TRUE(switch_network(false));
    testing::internal::CaptureStderr();
    pair.live(20 * kLimitMs, {&pair.one, &pair.other});
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_EQ(pair.one.downs.size(), 1u);
    EXPECT_EQ(pair.one.downs.front()->why, Status::peer_failed);
    EXPECT_NE(said.find("127.0.0.1, has not answered for 1000 ms (STRIA_TCP_SILENT_MS)"), std::string::npos)
        << said;
  });
}

/// The system counts in seconds, and gives an idle connection up when its probes are over.
TEST(TcpSilence, of_an_idle_connection_may_last_for_the_whole_limit) {
  for (const std::uint64_t limit_ms : {5000, 7000, 8000, 10000, 11000, 17000, 29001, 30000, 3600000}) {
    const SocketPair pair;
    Silence::set_keepalive(pair.one, limit_ms);
    const auto number_of = [&pair](int option) {
      int number = 0;
      socklen_t bytes = sizeof number;
      EXPECT_EQ(::getsockopt(pair.one.get(), IPPROTO_TCP, option, &number, &bytes), 0);
      return static_cast<std::uint64_t>(number);
    };
    const std::uint64_t seconds = number_of(TCP_KEEPIDLE) + number_of(TCP_KEEPINTVL) * number_of(TCP_KEEPCNT);
    EXPECT_GE(seconds * 1000, limit_ms);
    EXPECT_LT(seconds * 1000, limit_ms + 1000);
  }
}

TEST(TcpSilence, shorter_than_the_limit_loses_nothing) {
  in_own_network(60 * kLimitMs, [] {
    Pair pair;
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(switch_network(false));
      for (int k = 0; k < 5; ++k) EXPECT_EQ(pair.try_send(500), Status::ok);
      pair.live(kLimitMs / 3, {&pair.one, &pair.other});
      EXPECT_TRUE(switch_network(true));
      pair.expect_all(500);
    }
    EXPECT_TRUE(pair.one.downs.empty() && pair.other.downs.empty());
  });
}

TEST(TcpSilence, is_not_that_of_a_process_that_takes_nothing) {
  in_own_network(kLimitMs, [] {
    Pair pair;
    constexpr std::size_t kBytes = 500;
    const auto fill = [&] {
      while (pair.try_send(kBytes) == Status::ok) {
      }
    };
    fill();
    for (std::uint64_t i = 0; i < 30; ++i) {
      pair.live(kLimitMs / 10, {&pair.one});
      fill();
    }
    EXPECT_TRUE(pair.one.downs.empty());
    pair.expect_all(kBytes);
  });
}

}  // namespace
}  // namespace stria::tcp
