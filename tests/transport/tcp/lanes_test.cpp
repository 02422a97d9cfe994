// How bulk connections come and go: a process without a descriptor closes those that nobody uses, and the
// next long message makes them anew; and where they end again and again long messages do without them.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/transport/tcp/reset_rig.hpp"

namespace stria::tcp {
namespace {

using contract::Bytes;
using contract::contiguous;
using contract::Ending;

constexpr std::size_t kBytes = 700000;         // of a get, which goes over a bulk connection
constexpr std::size_t kPeers = 9, kFirst = 6;  // peers, and those that are there before descriptors run short

/// What the process with the hub is told of a peer.
struct Invitation {
  std::uint32_t address_bytes = 0;
  std::byte address[512];
  stria_provider_key_t key;
};

template <class Value>
void write_to(int pipe, const Value& value) {
  ASSERT_EQ(::write(pipe, &value, sizeof value), static_cast<ssize_t>(sizeof value));
}
template <class Value>
void read_from(int pipe, Value& value) {
  ASSERT_EQ(::read(pipe, &value, sizeof value), static_cast<ssize_t>(sizeof value));
}

Invitation invite(const Peer& peer) {
  Invitation out;
  const Bytes address = peer.address();
  EXPECT_LE(address.size(), sizeof out.address);
  out.address_bytes = static_cast<std::uint32_t>(address.size());
  std::copy(address.begin(), address.end(), out.address);
  return out;
}

/// A device that reads the memory of its peers, which are in another process. Those of even numbers it
/// connects to, the others come.
class Hub {
 public:
  Hub(int from_peers, int to_peers) : to_peers_(to_peers) {
    write_to(to_peers, invite(device_));
    for (Invitation& one : invitations_) read_from(from_peers, one);
  }
  void use(std::size_t i) {
    if (links_[i] == nullptr) connect(i);
    if (testing::Test::HasFatalFailure()) return;
    Bytes local(kBytes);
    Ending ending;
    ASSERT_EQ(device_.get(links_[i], contiguous(local), invitations_[i].key, 0, ending), Status::in_progress);
    ASSERT_TRUE(drive({&device_}, [&] { return ending.calls > 0; }));
    ASSERT_EQ(ending.status, Status::ok);
    ASSERT_TRUE(local == contract::pattern(i, kBytes));
    ASSERT_TRUE(device_.downs.empty());
  }

 private:
  void connect(std::size_t i) {
    if (i % 2 == 0) {
      const Invitation& one = invitations_[i];
      stria_status_t status = STRIA_OK;
      links_[i] = device_.try_connect({one.address, one.address + one.address_bytes}, contacts_[i], status);
    } else {
      write_to(to_peers_, i);
      drive({&device_}, [&] { return device_.ups.count(2 + i) != 0; });
      links_[i] = device_.ups[2 + i];
    }
    ASSERT_NE(links_[i], nullptr);
    ASSERT_TRUE(drive({&device_}, [&] {
      return device_.try_send(links_[i], contract::Path::buffered, contract::header(1), nullptr, 0) ==
             Status::ok;
    }));
  }

  const int to_peers_;
  Peer device_{tcp_provider(), 1};
  Invitation invitations_[kPeers];
  contract::Contact contacts_[kPeers];
  stria_link_t* links_[kPeers] = {};
};

void use_more_peers_than_there_are_descriptors(int from_peers, int to_peers) {
  Hub hub(from_peers, to_peers);
  for (std::size_t i = 0; i < kFirst; ++i) ASSERT_NO_FATAL_FAILURE(hub.use(i)) << i;
  ASSERT_EQ(connections_of_this_process().size(), 2 * kFirst) << "a first and a bulk connection of each";
  rlim_t next = 0;
  { next = static_cast<rlim_t>(UniqueFd(::dup(0)).get()); }
  const rlimit full{next + 1, next + 1};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &full), 0);  // there is one more, and each new peer needs two
  for (int round = 0; round < 3; ++round)
    for (std::size_t i = 0; i < kPeers; ++i) ASSERT_NO_FATAL_FAILURE(hub.use(i)) << i << ", round " << round;
  EXPECT_LT(connections_of_this_process().size(), 2 * kPeers);
}

TEST(TcpLanes, that_nobody_uses_make_room_for_new_peers_and_come_again) {
  int to_hub[2], to_peers[2];
  ASSERT_EQ(::pipe(to_hub), 0);
  ASSERT_EQ(::pipe(to_peers), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    use_more_peers_than_there_are_descriptors(to_hub[0], to_peers[1]);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  std::vector<Bytes> memory;
  std::vector<std::unique_ptr<Peer>> peers;
  for (std::size_t i = 0; i < kPeers; ++i) {
    memory.push_back(contract::pattern(i, kBytes));
    peers.push_back(std::make_unique<Peer>(tcp_provider(), 2 + i));
    Invitation one = invite(*peers.back());
    ASSERT_EQ(peers.back()->fast_register(contiguous(memory.back()), STRIA_ACCESS_REMOTE_READ, one.key),
              Status::ok);
    write_to(to_hub[1], one);
  }
  Invitation hub;
  read_from(to_peers[0], hub);
  ASSERT_EQ(::fcntl(to_peers[0], F_SETFL, O_NONBLOCK), 0);
  std::vector<contract::Contact> contacts(kPeers);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    std::size_t wanted = 0;
    if (::read(to_peers[0], &wanted, sizeof wanted) == static_cast<ssize_t>(sizeof wanted)) {
      stria_status_t answer = STRIA_OK;
      EXPECT_NE(peers[wanted]->try_connect({hub.address, hub.address + hub.address_bytes}, contacts[wanted],
                                           answer),
                nullptr);
    }
    for (const auto& one : peers) one->progress();
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the test's process says why: " << status;
  for (const int end : {to_hub[0], to_hub[1], to_peers[0], to_peers[1]}) ::close(end);
}

/// Bulk connections are reset when their reader has requested something, before the owner has heard of it.
struct TcpFruitlessLanes : WithResets, testing::WithParamInterface<bool> {};

TEST_P(TcpFruitlessLanes, end_with_gets_that_are_refused_while_the_link_stays) {
  ResetPair pair;
  const std::vector<int> first = connections_of_this_process();
  ASSERT_EQ(first.size(), 2u);
  const bool by_maker = GetParam();
  Peer& reader = by_maker ? pair.a : pair.b;
  Peer& owner = by_maker ? pair.b : pair.a;
  Bytes memory = contract::pattern(3, 700000), local(memory.size());
  const auto key = key_for(owner, by_maker ? pair.to_a : pair.to_b, contiguous(memory));
  stria_link_t* const link = by_maker ? pair.to_b : pair.to_a;
  Ending ending;
  ASSERT_EQ(reader.get(link, contiguous(local), key, 0, ending), Status::in_progress);
  unsigned resets = 0;
  const auto reset_requested = [&] {
    int waits = 0;
    for (const int fd : first) {
      int bytes = 0;
      if (::ioctl(fd, FIONREAD, &bytes) == 0) waits += bytes;
    }
    if (waits == 0) return;
    for (const int fd : connections_of_this_process())
      if (std::find(first.begin(), first.end(), fd) == first.end() && reset_connection(fd) == 0) ++resets;
  };
  for (const std::uint64_t end = now_ms() + 30000; ending.calls == 0 && now_ms() < end;) {
    reader.progress();
    reset_requested();
    owner.progress();
  }
  ASSERT_EQ(ending.calls, 1) << "after " << resets << " resets";
  EXPECT_EQ(ending.status, Status::unsupported);
  EXPECT_GE(resets, 32u);
  ASSERT_TRUE(pair.run(
      [&] { return pair.a.limits(pair.to_b).can_get == 0 && pair.b.limits(pair.to_a).can_get == 0; }));
  Ending another;
  EXPECT_EQ(reader.get(link, contiguous(local), key, 0, another), Status::unsupported);
  EXPECT_EQ(contract::send({&pair.a, &pair.b}, pair.a, pair.to_b, contract::Path::buffered,
                           contract::header(1), Bytes(100)),
            Status::ok);
  EXPECT_TRUE(pair.run([&] { return pair.b.received.size() == 1; }));
  EXPECT_TRUE(pair.is_whole());
}

INSTANTIATE_TEST_SUITE_P(Reader, TcpFruitlessLanes, testing::Bool(), [](const auto& which) {
  return which.param ? "has_made_the_link" : "has_not_made_the_link";
});

}  // namespace
}  // namespace stria::tcp
