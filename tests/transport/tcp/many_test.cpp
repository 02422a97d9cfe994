// Many peers of one device, and a process that may open few descriptors.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "tests/transport/tcp/device_rig.hpp"

namespace stria::tcp {
namespace {

/// All send to the first, which answers each.
void talk_to_one(std::size_t peers) {
  std::vector<std::unique_ptr<Peer>>
      others;  // they are closed after the hub: each waits until its end is acknowledged
  Peer hub(tcp_provider(), 1);
  std::vector<stria_link_t*> links;
  for (std::size_t i = 0; i < peers; ++i) {
    others.push_back(std::make_unique<Peer>(tcp_provider(), 2 + i));
    links.push_back(others.back()->connect(hub));
  }
  std::vector<bool> sent(peers, false), answered(peers, false);
  const auto say = [](Peer& from, stria_link_t* link, std::size_t about) {
    const contract::Bytes data = contract::pattern(about, 100 + about % 50);
    return from.try_send(link, contract::Path::buffered, contract::header(static_cast<std::uint16_t>(about)),
                         data.data(), data.size()) == Status::ok;
  };
  std::vector<Peer*> all{&hub};
  for (const auto& one : others) all.push_back(one.get());
  const auto finished = [&] {
    for (std::size_t i = 0; i < peers; ++i) {
      if (!sent[i]) sent[i] = say(*others[i], links[i], i);
      const auto up = hub.ups.find(2 + i);
      if (!answered[i] && up != hub.ups.end()) answered[i] = say(hub, up->second, i);
    }
    std::size_t heard = 0;
    for (const auto& one : others) heard += one->received.size();
    return heard == peers && hub.received.size() == peers;
  };
  const std::uint64_t end = now_ms() + 60000;
  bool done = false;
  while (!(done = finished()) && now_ms() < end) {
    for (Peer* const one : all) one->progress();
  }
  ASSERT_TRUE(done) << hub.received.size() << " of " << peers << " have been heard";
  for (const contract::Received& one : hub.received) {
    const std::size_t about = one.header.sequence;
    ASSERT_EQ(one.from->worker, 2 + about);
    ASSERT_EQ(one.payload, contract::pattern(about, 100 + about % 50));
  }
  for (std::size_t i = 0; i < peers; ++i) {
    ASSERT_EQ(others[i]->received.size(), 1u);
    ASSERT_EQ(others[i]->received.front().payload, contract::pattern(i, 100 + i % 50));
  }
}

TEST(TcpMany, peers_a_thousand_reach_one_device_and_hear_from_it) {
  constexpr rlim_t kNeeded = 8000;  // four of each device, and two of each connection
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < kNeeded)
    GTEST_SKIP() << "a process may have " << limit.rlim_max << " descriptors here, and needs " << kNeeded;
  const rlimit raised{std::max(limit.rlim_cur, kNeeded), limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &raised), 0);
  talk_to_one(1000);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST(TcpMany, sockets_raise_the_soft_limit_of_descriptors) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::vector<std::unique_ptr<Peer>> others;
    Peer hub(tcp_provider(), 1);
    for (std::size_t i = 0; i < 40; ++i) others.push_back(std::make_unique<Peer>(tcp_provider(), 2 + i));
    const UniqueFd next(::dup(0));
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = static_cast<rlim_t>(next.get()) + 10;  // eight or nine sockets more
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (const auto& one : others) one->connect(hub);
    std::vector<Peer*> all{&hub};
    for (const auto& one : others) all.push_back(one.get());
    for (const std::uint64_t end = now_ms() + 30000; hub.ups.size() < others.size() && now_ms() < end;)
      for (Peer* const one : all) one->progress();
    EXPECT_EQ(hub.ups.size(), others.size());
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the test's process says why: " << status;
}

TEST(TcpMany, connections_beyond_the_hard_limit_are_refused_at_once) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Peer hub(tcp_provider(), 1), other(tcp_provider(), 2);
    const UniqueFd next(::dup(0));
    const rlimit one_more{
        static_cast<rlim_t>(next.get()) + 2,
        static_cast<rlim_t>(next.get()) + 2};  // the socket of the connecting device is the last one
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &one_more), 0);
    other.connect(hub);
    const std::uint64_t begun = now_ms();
    EXPECT_TRUE(drive({&hub, &other}, [&] { return other.downs.size() == 1; }));
    EXPECT_LT(now_ms() - begun, 60000u) << "the time that a peer has to answer is twice as long";
    for (const contract::Contact* down : other.downs) EXPECT_EQ(down->why, Status::unreachable);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the test's process says why: " << status;
}

}  // namespace
}  // namespace stria::tcp
