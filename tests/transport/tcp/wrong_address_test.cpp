// Addresses that lead to another process, to no host, or nowhere: the dial goes on, and when nothing answers
// it tells what became of each of them. Two network namespaces, in each of which a device listens on the same
// port: as two hosts, of which the second has an address that the first one's peer gives as its own.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "base/format.hpp"
#include "tests/transport/tcp/device_rig.hpp"
#include "transport/tcp/dial.hpp"

namespace stria::tcp {
namespace {

constexpr int kNoNetwork = 77;
constexpr std::uint16_t kPort = 30000;
constexpr const char* kHere = "10.213.9.1";     // of the peer
constexpr const char* kThere = "10.213.9.2";    // of another host
constexpr const char* kNoHost = "10.213.9.99";  // in the network of both
constexpr const char* kNoRoute = "192.0.2.1";   // kept for documentation

bool run(const std::string& command) {
  return std::system((command + " 2>/dev/null").c_str()) == 0;
}

/// The network namespace of the calling thread.
UniqueFd network() {
  return UniqueFd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
}

/// A process of the peer's host, which a virtual interface joins with another host.
struct TwoHosts {
  UniqueFd here, there;
  std::unique_ptr<Peer> peer, another;

  bool make() {
    if (::unshare(CLONE_NEWNET) != 0) return false;
    there = network();
    if (::unshare(CLONE_NEWNET) != 0) return false;
    here = network();
    const std::string of_there = fmt::format("/proc/{}/fd/{}", ::getpid(), there.get());
    if (!run("ip link set lo up && ip link add near type veth peer name far netns " + of_there) ||
        !run(fmt::format("ip addr add {}/24 dev near && ip link set near up", kHere)))
      return false;
    if (::setns(there.get(), CLONE_NEWNET) != 0) return false;
    return run(fmt::format("ip link set lo up && ip addr add {}/24 dev far && ip link set far up", kThere));
  }
  /// Opens `another` on the other host, where make() has left this thread, and `peer` on this one.
  void open() {
    ::setenv("STRIA_TCP_PORTS", std::to_string(kPort).c_str(), 1);
    another = std::make_unique<Peer>(tcp_provider(), 3);
    ASSERT_EQ(::setns(here.get(), CLONE_NEWNET), 0);
    peer = std::make_unique<Peer>(tcp_provider(), 2);
    ::unsetenv("STRIA_TCP_PORTS");
    await_network();
  }
  /// A new interface drops what is sent by it for some time.
  static void await_network() {
    for (const std::uint64_t ends = now_ms() + 60000; now_ms() < ends;) {
      const UniqueFd socket = begin_connection({Ip::parse(kThere).value()}, kPort);
      pollfd one{socket.get(), POLLOUT, 0};
      if (::poll(&one, 1, 50) == 1 && one.revents == POLLOUT) return;
    }
    FAIL() << "the network does not come up";
  }
};

/// Runs in a process of its own, and hands its failures on by its exit code.
void on_two_hosts(const std::function<void(TwoHosts&)>& test) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    TwoHosts hosts;
    if (!hosts.make()) ::_exit(kNoNetwork);
    hosts.open();
    if (!testing::Test::HasFailure()) test(hosts);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoNetwork)
    GTEST_SKIP() << "no network namespaces with virtual interfaces can be made";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the test's process says why: " << status;
}

Ip ip(const char* text) {
  return Ip::parse(text).value();
}

TEST(TcpWrongAddress, at_which_another_process_answers_is_left_for_the_next_one) {
  on_two_hosts([](TwoHosts& hosts) {
    const Handshake own(1, 11, 65536, bytes_of(kSecret), {});
    Events events = *Events::open(9);
    const Dialling by{own, events, 8, 120000, [] { return false; }};
    const Address address = read_address(*hosts.peer);
    Dial dial(by, address, {{ip(kThere)}, {ip(kNoRoute)}, {ip(kHere)}}, now_ms());
    const std::string answered = fmt::format("{}: what listens there hung up", kThere);
    Dial::State state = Dial::State::going;
    ASSERT_TRUE(drive({hosts.another.get()}, [&] {
      state = dial.advance(now_ms());
      return dial.report().starts_with(answered);
    })) << dial.report();
    ASSERT_EQ(state, Dial::State::going);
    ASSERT_TRUE(drive({hosts.peer.get()}, [&] {
      state = dial.advance(now_ms());
      return state != Dial::State::going;
    }));
    EXPECT_EQ(state, Dial::State::connected) << dial.report();
    EXPECT_EQ(dial.ip(), ip(kHere));
    EXPECT_TRUE(hosts.another->ups.empty());
  });
}

TEST(TcpWrongAddress, is_told_with_what_became_of_it_when_no_address_leads_to_the_peer) {
  on_two_hosts([](TwoHosts& hosts) {
    ::setenv("STRIA_TCP_CONNECT_MS", "2500", 1);
    Peer dialler(tcp_provider(), 1);
    ::unsetenv("STRIA_TCP_CONNECT_MS");
    Address address = read_address(*hosts.peer);
    address.ips = {ip(kThere), ip(kNoHost), ip(kNoRoute), ip(kHere)};
    const auto bytes = encode(address, bytes_of(kSecret));
    contract::Contact contact{.worker = 2};
    stria_status_t status = STRIA_OK;
    testing::internal::CaptureStderr();
    ASSERT_NE(dialler.try_connect({bytes.begin(), bytes.end()}, contact, status), nullptr);
    EXPECT_TRUE(drive({&dialler, hosts.another.get()}, [&] { return contact.down; }));  // the peer computes
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(contact.why, Status::unreachable);
    const auto expect_said = [&said](const char* of, const char* what) {
      EXPECT_NE(said.find(fmt::format("{}: {}", of, what)), std::string::npos) << said;
    };
    expect_said("worker 2", "it cannot be connected to");
    expect_said(kThere, "what listens there hung up: it is another process");
    expect_said(kNoHost, "no host has answered");
    expect_said(kNoRoute, "Network is unreachable");
    expect_said(kHere, "connected, and not answered yet");
    EXPECT_NE(said.find("within 2500 ms (STRIA_TCP_CONNECT_MS)"), std::string::npos) << said;
  });
}

TEST(TcpWrongAddress, that_there_was_no_time_for_is_told) {
  on_two_hosts([](TwoHosts& hosts) {
    const Handshake own(1, 11, 65536, bytes_of(kSecret), {});
    Events events = *Events::open(9);
    const Dialling by{own, events, 8, 10, [] { return false; }};
    const Address address = read_address(*hosts.peer);
    const std::uint64_t begun = now_ms();
    Dial dial(by, address, {{ip(kHere)}, {ip(kThere)}}, begun);
    ASSERT_EQ(dial.advance(begun), Dial::State::going);
    ASSERT_EQ(dial.advance(begun + 11), Dial::State::failed);
    EXPECT_NE(dial.report().find(fmt::format("{}: not tried", kThere)), std::string::npos) << dial.report();
    EXPECT_FALSE(dial.all_refused());
  });
}

}  // namespace
}  // namespace stria::tcp
