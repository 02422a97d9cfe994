// What a reset comes across: budgets that are used up, memory that is not there, processes that compute, and
// links that their maker has given up.
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <array>
#include <deque>
#include <functional>
#include <thread>

#include "tests/transport/tcp/reset_rig.hpp"
#include "transport/tcp/record.hpp"

namespace stria::tcp {
namespace {

using contract::Bytes;
using contract::contiguous;
using contract::Ending;
using TcpResetAcross = WithResets;

constexpr std::size_t kMiB = 1 << 20;

/// Waits for what the kernel does by itself, for a minute at most.
bool comes_true(const std::function<bool()>& condition) {
  for (const std::uint64_t limit = now_ms() + 60000; !condition() && now_ms() < limit;)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}
/// Bytes that were sent by a connection, and whose receipt its peer's system has not told yet.
int unacknowledged(int socket) {
  int bytes = 0;
  EXPECT_EQ(::ioctl(socket, SIOCOUTQ, &bytes), 0);
  return bytes;
}
/// Packets to a connection that its filter did not let through, among others.
std::uint32_t dropped_packets(int socket) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> counts{};
  socklen_t bytes = sizeof counts;
  EXPECT_EQ(::getsockopt(socket, SOL_SOCKET, SO_MEMINFO, counts.data(), &bytes), 0);
  return counts[SK_MEMINFO_DROPS];
}

/// For as long as it lives.
struct Setting {
  Setting(const char* variable, const char* value) : name(variable) { ::setenv(variable, value, 1); }
  ~Setting() { ::unsetenv(name); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  const char* const name;
};

/// Pieces that are here already when the first connection is lost, and for which no budget was left.
TEST_F(TcpResetAcross, pieces_that_have_come_and_are_not_told_of_the_gets_end) {
  for (const bool resets : {false, true}) {
    ResetPair two;
    const auto first = connections_of_this_process();
    ASSERT_EQ(first.size(), 2u);
    const Bytes remote = contract::pattern(3, 4 * kMiB);
    const auto key = key_for(two.b, two.to_a, contiguous(remote));
    {  // brings the bulk connection up
      Bytes local(1000);
      Ending ending;
      ASSERT_EQ(two.a.get(two.to_b, contiguous(local), key, 0, ending), Status::in_progress);
      ASSERT_TRUE(two.run([&] { return ending.calls > 0; }));
    }
    constexpr std::size_t kGets = 8, kBytes = 100000;
    std::deque<Bytes> locals;
    std::deque<Ending> endings;
    for (std::size_t i = 0; i < kGets; ++i) {
      ASSERT_EQ(two.a.get(two.to_b, contiguous(locals.emplace_back(kBytes)), key, i * kBytes,
                          endings.emplace_back()),
                Status::in_progress);
    }
    const auto ended = [&] {
      return std::count_if(endings.begin(), endings.end(), [](const Ending& one) { return one.calls > 0; });
    };
    // All of it comes, and a budget of one packet at a time tells of a few.
    const std::uint64_t until = now_ms() + 20000;
    while (ended() < 2 && now_ms() < until) {
      two.a.progress(1);
      for (int i = 0; i < 20; ++i) two.b.progress();
    }
    ASSERT_GE(ended(), 2);
    if (resets) {
      ASSERT_EQ(reset_connection(first[0]), 0);
    }
    const std::uint64_t limit = now_ms() + 20000;
    while (ended() < static_cast<std::ptrdiff_t>(kGets) && now_ms() < limit) {
      two.a.progress(1);
      two.b.progress();
    }
    EXPECT_EQ(ended(), static_cast<std::ptrdiff_t>(kGets)) << (resets ? "with a reset" : "without");
    EXPECT_TRUE(two.is_whole());
    for (std::size_t i = 0; i < kGets; ++i)
      EXPECT_TRUE(std::equal(locals[i].begin(), locals[i].end(),
                             remote.begin() + static_cast<std::ptrdiff_t>(i * kBytes)));
  }
}

struct NoMemory {
  NoMemory() { base = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
  ~NoMemory() { ::munmap(base, bytes); }
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
  const std::size_t bytes = kMiB;
  void* base;
};

/// What no connection can bring is not asked for again and again.
TEST_F(TcpResetAcross, memory_that_cannot_be_written_to_ends_the_get_or_the_link) {
  ResetPair two;
  const NoMemory none;
  const Bytes remote = contract::pattern(3, none.bytes);
  const auto key = key_for(two.b, two.to_a, contiguous(remote));
  Ending ending;
  ASSERT_EQ(two.a.get(two.to_b, contiguous(none.base, none.bytes), key, 0, ending), Status::in_progress);
  const std::uint64_t limit = now_ms() + 20000;
  while (ending.calls == 0 && two.is_whole() && now_ms() < limit) {
    two.a.progress();
    two.b.progress();
  }
  EXPECT_TRUE(ending.calls > 0 || !two.is_whole());
}

TEST_F(TcpResetAcross, memory_that_cannot_be_read_ends_the_link) {
  ResetPair two;
  const NoMemory none;
  const auto key = key_for(two.b, two.to_a, contiguous(none.base, none.bytes));
  Bytes local(none.bytes);
  Ending ending;
  ASSERT_EQ(two.a.get(two.to_b, contiguous(local), key, 0, ending), Status::in_progress);
  const std::uint64_t limit = now_ms() + 20000;
  while (ending.calls == 0 && two.is_whole() && now_ms() < limit) {
    two.a.progress();
    two.b.progress();
  }
  EXPECT_TRUE(ending.calls > 0 || !two.is_whole());
}

/// A process that computes is not silent, whatever the limit of a silent host.
TEST_F(TcpResetAcross, a_process_that_computes_for_longer_than_a_silent_host_may_be_silent) {
  for (const bool maker_computes : {true, false}) {
    const Setting silent("STRIA_TCP_SILENT_MS", "1000");
    ResetPair two;
    const auto all = connections_of_this_process();
    ASSERT_EQ(reset_connection(all[0]), 0);
    Peer& calls = maker_computes ? two.b : two.a;
    const std::uint64_t until = now_ms() + 2000;
    while (now_ms() < until) calls.progress();
    EXPECT_TRUE(two.run([&] { return connections_of_this_process().size() == 2 || !two.is_whole(); }));
    EXPECT_TRUE(two.is_whole()) << "the maker computes: " << maker_computes;
  }
}

/// Nor does its own absence count.
TEST_F(TcpResetAcross, a_process_that_was_away_itself_does_not_count_that) {
  for (const bool maker_computes : {true, false}) {
    const Setting silent("STRIA_TCP_SILENT_MS", "1000");
    ResetPair two;
    const auto all = connections_of_this_process();
    ASSERT_EQ(reset_connection(all[0]), 0);
    // Both hear of it, and have begun; then one computes, and the other as well.
    for (int i = 0; i < 200; ++i) (maker_computes ? two.a : two.b).progress();
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    EXPECT_TRUE(two.run([&] { return connections_of_this_process().size() == 2 || !two.is_whole(); }));
    EXPECT_TRUE(two.is_whole()) << "the maker computes: " << maker_computes;
  }
}

/// A peer by hand whose device has given the link up, with bytes of the other side unread, and connects
/// again.
TEST_F(TcpResetAcross, a_maker_that_has_given_the_link_up_may_connect_again) {
  Peer device(tcp_provider(), 41);
  std::uint16_t port = 0;
  const UniqueFd door = *listen_on({}, port);
  const Address target = read_address(device);
  Handshake own(42, 43, 65536, bytes_of(kSecret), {});
  own.listens_on(port);
  Attempt first(own, target, Route{target.ips.front()}, now_ms());
  ASSERT_EQ(shake_hands(device, first, own), Attempt::State::welcome);
  ASSERT_TRUE(drive({&device}, [&] { return device.ups.count(42) == 1; }));
  const RecordHead nothing{0, RecordKind::padding, {}};
  say(first.socket(), std::as_bytes(std::span(&nothing, 1)));  // the link is up on this side
  contract::drive_for({&device}, 1000);
  ASSERT_EQ(contract::send({&device}, device, device.ups[42], contract::Path::buffered, contract::header(1),
                           Bytes(100)),
            Status::ok);
  { const UniqueFd closed = first.take_socket(); }  // unread bytes: the system resets the connection
  Attempt second(own, target, Route{target.ips.front()}, now_ms());
  const std::uint64_t limit = now_ms() + 20000;
  while (second.advance(own, now_ms()) == Attempt::State::going && now_ms() < limit) device.progress();
  EXPECT_EQ(second.state(), Attempt::State::welcome) << second.why();
  EXPECT_EQ(device.downs.size(), 1u);
}

/// The connection is reset between the peer's welcome and the moment in which this side takes it.
TEST_F(TcpResetAcross, a_link_that_has_just_come_up_knows_where_its_peer_is) {
  Peer a(tcp_provider(), 51), b(tcp_provider(), 52);
  stria_link_t* const to_b = a.connect(b);
  for (const std::uint64_t limit = now_ms() + 60000; b.ups.empty() && now_ms() < limit;) {
    for (int j = 0; j < 100 && b.ups.empty(); ++j) b.progress();
    if (b.ups.empty()) a.progress();
  }
  ASSERT_EQ(b.ups.size(), 1u);
  const auto all = connections_of_this_process();
  ASSERT_EQ(all.size(), 2u);
  ASSERT_EQ(reset_connection(all[0]), 0);
  ASSERT_TRUE(drive({&a, &b}, [&] {
    return a.try_send(to_b, contract::Path::buffered, contract::header(1), nullptr, 0) == Status::ok ||
           !a.downs.empty();
  }));
  EXPECT_TRUE(a.downs.empty());
  const std::string path = a.limits(to_b).path;
  EXPECT_EQ(path.find("0.0.0.0"), std::string::npos) << path;
  EXPECT_EQ(path.find("::"), std::string::npos) << path;
}

/// The side that did not make the connection hears of the reset, and the other hears nothing: as where a
/// firewall answers what one side sends to a connection that it has forgotten.
TEST_F(TcpResetAcross, the_maker_is_told_by_the_side_that_hears_of_it) {
  for (const bool maker_hears : {true, false}) {
    const Setting silent("STRIA_TCP_SILENT_MS", "300000");  // so that the system's own probes come too late
    ResetPair two(maker_hears ? 61 : 71);
    const std::uint16_t door = read_address(two.b).port;
    const auto all = connections_of_this_process();
    ASSERT_EQ(all.size(), 2u);
    const int made = peer_port_of(all[0]) == door ? all[0] : all[1];
    const int taken = made == all[0] ? all[1] : all[0];
    const int hears = maker_hears ? made : taken, deaf = maker_hears ? taken : made;
    ASSERT_TRUE(comes_true([&] { return unacknowledged(deaf) == 0 && unacknowledged(hears) == 0; }));
    const std::uint32_t dropped = dropped_packets(deaf);
    sock_filter nothing{BPF_RET | BPF_K, 0, 0, 0};
    const sock_fprog filter{1, &nothing};
    ASSERT_EQ(::setsockopt(deaf, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter), 0);
    ASSERT_EQ(reset_connection(hears), 0);
    ASSERT_TRUE(comes_true([&] { return dropped_packets(deaf) != dropped; })) << "where is the reset?";
    const int none = 0;
    ASSERT_EQ(::setsockopt(deaf, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof none), 0);
    Peer& sender = maker_hears ? two.a : two.b;
    Peer& receiver = maker_hears ? two.b : two.a;
    stria_link_t* const link = maker_hears ? two.to_b : two.to_a;
    {
      pollfd state{deaf, POLLIN, 0};
      ::poll(&state, 1, 0);
      ASSERT_EQ(state.revents, 0) << "it has heard";
    }
    for (int i = 0; i < 1000; ++i) sender.progress();  // it hears
    EXPECT_TRUE(two.run([&] {
      return sender.try_send(link, contract::Path::buffered, contract::header(1), nullptr, 0) == Status::ok;
    }));
    EXPECT_TRUE(two.run([&] { return !receiver.received.empty(); }));
    EXPECT_TRUE(two.is_whole()) << "the maker hears: " << maker_hears;
  }
}

/// What was sent before close(), which waits for it, comes although the connection is reset before.
TEST_F(TcpResetAcross, what_was_sent_before_the_end_comes) {
  for (const bool maker_closes : {true, false}) {
    ResetPair two;
    const auto all = connections_of_this_process();
    Peer& closes = maker_closes ? two.a : two.b;
    Peer& stays = maker_closes ? two.b : two.a;
    stria_link_t* const link = maker_closes ? two.to_b : two.to_a;
    ASSERT_EQ(reset_connection(all[0]), 0);
    for (int i = 0; i < 20; ++i)
      ASSERT_EQ(closes.try_send(link, contract::Path::buffered, contract::header(1), nullptr, 0), Status::ok);
    std::thread reader([&] { drive({&stays}, [&] { return !stays.downs.empty(); }); });
    closes.close(20000);
    reader.join();
    EXPECT_EQ(stays.received.size(), 20u) << "the maker closes: " << maker_closes;
  }
}

}  // namespace
}  // namespace stria::tcp
