// Several devices of the uct provider under one worker: each carries a part of long messages, and takes
// nothing with it when its connections are cut, or its peer dies.
//
// The devices are two of this host: a network interface and lo, or those that STRIA_UCT_TRANSPORT names. What
// looks at TCP connections needs two of UCX's tcp.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>

#include "tests/transport/uct/side.hpp"
#include "tests/transport/uct/tcp_connections.hpp"

namespace stria::uct {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class UctRails : public testing::Test {
 protected:
  void SetUp() override {
    const char* const given = std::getenv("STRIA_UCT_TRANSPORT");
    both = given == nullptr ? "" : given;
    if (both.find(',') == std::string::npos) both = two_interfaces();
    if (both.empty()) GTEST_SKIP() << "this host has no network interface with an IPv4 address beside lo";
    first = both.substr(0, both.find(','));
    second = both.substr(both.find(',') + 1);
    for (const NetworkInterface& one : network_interfaces()) {
      if (first == "tcp/" + one.name) first_host = one.address;
      if (second == "tcp/" + one.name) second_host = one.address;
    }
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    if ((first_host.s_addr == 0 || second_host.s_addr == 0) && name.find("tcp") != std::string::npos)
      GTEST_SKIP() << both << " are not two interfaces of tcp";
  }
  void TearDown() override {
    EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "uct", "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_UCT_JOIN_ENDPOINTS", "0", "test"), STRIA_OK);
    EXPECT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "auto", "test"), STRIA_OK);
  }
  static std::string two_interfaces() {
    std::string network, loopback;
    for (const NetworkInterface& one : network_interfaces())
      (one.is_loopback ? loopback : network) = "tcp/" + one.name;
    return network.empty() || loopback.empty() ? "" : network + "," + loopback;
  }
  /// Messages of many lengths, both ways, go by two devices.
  static void expect_both_to_bring_pieces(const std::string& list) {
    SCOPED_TRACE(list);
    Side a(list), b(list);
    ASSERT_EQ(a.opened, STRIA_OK) << stria_last_error();
    connect(a, b);
    ASSERT_NO_FATAL_FAILURE(bring_up_rail(a, b));
    ASSERT_NO_FATAL_FAILURE(bring_up_rail(b, a));
    for (const std::size_t bytes : {kMiB - 1, kMiB, kMiB + 1, 3 * kMiB + 4097, 16 * kMiB}) {
      transfer(a, b, bytes);
      transfer(b, a, bytes);
    }
    for (const std::size_t block : {std::size_t{8}, std::size_t{4096}, std::size_t{65536}})
      transfer(a, b, 4 * kMiB, block);
    const std::uint64_t before = b.rail_pieces();
    transfer(a, b, 16 * kMiB);
    EXPECT_GT(b.rail_pieces(), before);
  }

  in_addr first_host{}, second_host{};
  std::string first, second, both;
};

TEST_F(UctRails, carry_long_messages_together) {
  expect_both_to_bring_pieces(both);
}

TEST_F(UctRails, carry_fragments_together) {
  ASSERT_EQ(stria_config_set("STRIA_RNDV_SCHEME", "pipeline", "test"), STRIA_OK);
  expect_both_to_bring_pieces(both);
}

TEST_F(UctRails, of_tcp_whose_endpoints_are_joined_carry_long_messages_together) {
  ASSERT_EQ(stria_config_set("STRIA_PROVIDERS", "uct", "test"), STRIA_OK);
  ASSERT_EQ(stria_config_set("STRIA_UCT_JOIN_ENDPOINTS", "1", "test"), STRIA_OK);
  expect_both_to_bring_pieces(both);
}

TEST_F(UctRails, may_be_of_two_transports) {
  expect_both_to_bring_pieces("posix," + second);
  // What the first device gets by a key is not divided with one that has no keys.
  if (first.starts_with("tcp/")) expect_both_to_bring_pieces(first + ",posix");
}

TEST_F(UctRails, of_tcp_divide_the_bytes_of_a_long_message) {
  Side a(both), b(both);
  connect(a, b);
  ASSERT_NO_FATAL_FAILURE(bring_up_rail(a, b));
  const std::uint64_t by_main = bytes_sent_at(first_host), by_rail = bytes_sent_at(second_host);
  transfer(a, b, 16 * kMiB);
  // Each was asked for two pieces, of which none is shorter than this (rndv/division.hpp).
  constexpr std::uint64_t kLeast = 65536;
  EXPECT_GE(bytes_sent_at(first_host) - by_main, 2 * kLeast);
  EXPECT_GE(bytes_sent_at(second_host) - by_rail, 2 * kLeast);
  EXPECT_EQ(b.path(), "uct " + first) << "the first entry has the matched traffic";
}

TEST_F(UctRails, of_tcp_carry_no_short_message) {
  Side a(both), b(both);
  connect(a, b);
  ASSERT_NO_FATAL_FAILURE(bring_up_rail(a, b));
  const std::uint64_t by_rail = bytes_sent_at(second_host);
  for (std::size_t bytes = 1; bytes < kMiB / 2; bytes *= 2) transfer(a, b, bytes);
  EXPECT_EQ(bytes_sent_at(second_host), by_rail);
}

TEST_F(UctRails, of_tcp_that_are_cut_in_the_middle_of_a_message_leave_the_rest_to_the_first_device) {
  for (const std::size_t block : {std::size_t{0}, std::size_t{8}}) {
    Side a(both), b(both);
    connect(a, b);
    ASSERT_NO_FATAL_FAILURE(bring_up_rail(a, b));
    Message message(a, b, 64 * kMiB, block);
    const std::uint64_t before = b.rail_pieces();
    ASSERT_TRUE(message.progress_until([&] { return b.rail_pieces() > before; }));
    ASSERT_FALSE(message.has_ended());
    ASSERT_GT(cut_connections_at(second_host), 0u);
    ASSERT_TRUE(message.finish());
    message.expect_right();
    transfer(a, b, 8 * kMiB);
    transfer(b, a, 8 * kMiB);
  }
}

TEST_F(UctRails, of_tcp_keep_no_message_alive_when_the_first_device_is_cut) {
  Side a(both), b(both);
  connect(a, b);
  ASSERT_NO_FATAL_FAILURE(bring_up_rail(a, b));
  Message message(a, b, 64 * kMiB);
  const std::uint64_t before = b.rail_pieces();
  ASSERT_TRUE(message.progress_until([&] { return b.rail_pieces() > before; }));
  ASSERT_GT(cut_connections_at(first_host), 0u);
  ASSERT_TRUE(message.finish()) << "it does not end";
  EXPECT_EQ(message.received(), STRIA_ERR_PEER_FAILED);
  EXPECT_EQ(message.sent(), STRIA_ERR_PEER_FAILED);
}

TEST_F(UctRails, are_left_out_when_they_cannot_be_opened_or_the_peer_has_others) {
  Side whole(both), lame("tcp/no_such_device," + second), other(first + ",posix"), one(first);
  for (Side* const side : {&lame, &other, &one}) {
    ASSERT_EQ(side->opened, STRIA_OK) << stria_last_error();
    whole.open_endpoint(side->address);
    side->open_endpoint(whole.address);
    transfer(whole, *side, 4 * kMiB);
    transfer(*side, whole, 4 * kMiB);
    EXPECT_EQ(whole.path(), "uct " + (side == &lame ? second : first));
    EXPECT_EQ(side->rail_pieces(), 0u);
  }
}

TEST_F(UctRails, of_other_transports_do_not_meet_and_say_what_to_do) {
  Side a(first + ",posix"), b("posix," + first);
  ASSERT_EQ(a.opened, STRIA_OK) << stria_last_error();
  a.open_endpoint(b.address);
  EXPECT_EQ(stria_endpoint_connect(a.peer), STRIA_ERR_UNREACHABLE);
  const std::string why = stria_last_error(), transport = first.substr(0, first.find('/'));
  for (const std::string& word :
       {std::string("uct[0]"), std::string("uct[1]"), std::string("of transport posix"),
        "of transport " + transport, std::string("in the same order"), std::string("STRIA_UCT_TRANSPORT")})
    EXPECT_NE(why.find(word), std::string::npos) << why << "\nlacks " << word;
}

TEST(UctList, that_is_wrong_opens_no_device) {
  const Side side("tcp/lo,tcp/lo");
  EXPECT_EQ(side.opened, STRIA_ERR_IO);
  const std::string why = stria_last_error();
  EXPECT_NE(why.find("entries 1 and 2 of STRIA_UCT_TRANSPORT=tcp/lo,tcp/lo are both tcp/lo"),
            std::string::npos)
      << why;
}

/// Another process, which sleeps until messages come.
class Process {
 public:
  explicit Process(const std::string& list) {
    std::array<int, 2> up{}, down{};
    EXPECT_EQ(::pipe(up.data()), 0);
    EXPECT_EQ(::pipe(down.data()), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      run(list, up[1], down[0]);
    }
    ::close(up[1]);
    ::close(down[0]);
    address.resize(STRIA_ADDRESS_MAX);
    const ssize_t bytes = ::read(up[0], address.data(), address.size());
    address.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    ::close(up[0]);
    to_ = down[1];
  }
  ~Process() { kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  void tell(const std::vector<std::byte>& other) const {
    EXPECT_EQ(::write(to_, other.data(), other.size()), static_cast<ssize_t>(other.size()));
  }
  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    ::close(to_);
    child_ = -1;
  }

  static constexpr std::size_t kBytes = 8 * kMiB;
  std::vector<std::byte> address;

 private:
  /// Sends back what it receives, for ever.
  [[noreturn]] static void run(const std::string& list, int up, int down) {
    Side side(list);
    std::vector<std::byte> other(STRIA_ADDRESS_MAX), room(kBytes);
    if (side.opened != STRIA_OK || ::write(up, side.address.data(), side.address.size()) < 0) ::_exit(1);
    const ssize_t bytes = ::read(down, other.data(), other.size());
    if (bytes <= 0) ::_exit(1);
    other.resize(static_cast<std::size_t>(bytes));
    side.open_endpoint(other);
    stria_recv_t recv{};
    recv.base = room.data();
    recv.count = room.size();
    recv.match = {side.peer, 1, 0};
    stria_send_t send{};
    send.base = room.data();
    send.count = room.size();
    send.tag = 2;
    for (;;) {
      stria_request_t request;
      if (stria_recv(side.worker, &recv, &request) < 0) ::_exit(1);
      if (stria_request_wait(side.worker, &request, nullptr) != STRIA_OK) ::_exit(1);
      if (stria_send_wait(side.peer, &send) != STRIA_OK) ::_exit(1);
    }
  }
  pid_t child_ = -1;
  int to_ = -1;
};

TEST_F(UctRails, of_two_processes_carry_messages_until_one_is_killed) {
  Process child(both);
  Side side(both);
  side.open_endpoint(child.address);
  child.tell(side.address);
  std::vector<std::uint64_t> sent(Process::kBytes / sizeof(std::uint64_t)), got(sent.size());
  std::mt19937_64 random(1);
  stria_send_t send{};
  send.base = sent.data();
  send.count = Process::kBytes;
  send.tag = 1;
  stria_recv_t recv{};
  recv.base = got.data();
  recv.count = Process::kBytes;
  recv.match = {side.peer, 2, 0};
  stria_request_t requests[2];
  for (int round = 0; round < 3 || side.rail_pieces() == 0; ++round) {
    ASSERT_LT(round, 100) << "no rail comes up";
    for (std::uint64_t& word : sent) word = random();
    ASSERT_EQ(stria_recv(side.worker, &recv, &requests[0]), STRIA_IN_PROGRESS);
    ASSERT_EQ(stria_send(side.peer, &send, &requests[1]), STRIA_IN_PROGRESS);
    for (stria_request_t& request : requests)
      ASSERT_EQ(stria_request_wait(side.worker, &request, nullptr), STRIA_OK) << stria_last_error();
    ASSERT_TRUE(got == sent) << "round " << round;
  }
  ASSERT_EQ(stria_recv(side.worker, &recv, &requests[0]), STRIA_IN_PROGRESS);
  ASSERT_EQ(stria_send(side.peer, &send, &requests[1]), STRIA_IN_PROGRESS);
  for (const std::uint64_t before = side.rail_pieces(); side.rail_pieces() == before;)
    stria_worker_progress(side.worker);
  child.kill();
  EXPECT_EQ(stria_request_wait(side.worker, &requests[0], nullptr), STRIA_ERR_PEER_FAILED);
  const stria_status_t of_send = stria_request_wait(side.worker, &requests[1], nullptr);
  EXPECT_TRUE(of_send == STRIA_OK || of_send == STRIA_ERR_PEER_FAILED) << of_send;
}

}  // namespace
}  // namespace stria::uct
