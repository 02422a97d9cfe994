// Connections that are reset while both processes live: the link goes on, and all that was under way comes
// once, in its order.
#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <random>

#include "tests/rounds.hpp"
#include "tests/transport/tcp/reset_rig.hpp"

namespace stria::tcp {
namespace {

using contract::Bytes;
using contract::contiguous;
using contract::Ending;

struct Get {
  Bytes memory, local;
  Ending ending;
  stria_provider_key_t key{};
};

/// One of two devices, with what it has sent to the other and has to receive.
struct Side {
  explicit Side(std::uint64_t id) : peer(tcp_provider(), id) {}
  Peer peer;
  stria_link_t* link = nullptr;
  std::deque<std::size_t> lengths;  // of the packets sent, by number
  std::uint64_t checked = 0;        // packets that came
  std::deque<Get> gets;
  std::deque<Bytes> rooms;
};

struct TcpReset : WithResets {
  void SetUp() override {
    WithResets::SetUp();
    if (IsSkipped()) return;
    one.link = one.peer.connect(other.peer);
    send(one, 0);
    ASSERT_TRUE(run([this] { return other.peer.received.size() == 1; }));
    other.link = other.peer.ups[1];
    check(other, one);
  }
  bool run(const std::function<bool()>& done) { return drive({&one.peer, &other.peer}, done); }
  bool try_send(Side& from, std::size_t bytes) {
    const std::uint64_t number = from.lengths.size();
    const Bytes payload = contract::pattern(number, bytes);
    if (from.peer.try_send(from.link, contract::Path::buffered, contract::header(1, number), payload.data(),
                           bytes) != Status::ok)
      return false;
    from.lengths.push_back(bytes);
    return true;
  }
  void send(Side& from, std::size_t bytes) {
    ASSERT_TRUE(run([&] { return try_send(from, bytes); }));
  }
  /// What has come to a side is what the other has sent, each once and in order.
  void check(Side& to, const Side& from) {
    for (; !to.peer.received.empty(); ++to.checked) {
      const contract::Received& got = to.peer.received.front();
      ASSERT_EQ(got.header.tag, to.checked);
      ASSERT_LT(to.checked, from.lengths.size());
      const Bytes& payload = got.placed ? to.rooms.front() : got.payload;
      ASSERT_EQ(payload, contract::pattern(to.checked, from.lengths[to.checked])) << "packet " << to.checked;
      if (got.placed) to.rooms.pop_front();
      to.peer.received.pop_front();
    }
  }
  void read(Side& reader, Side& owner, std::size_t bytes) {
    Get& get = reader.gets.emplace_back();
    get.memory = contract::pattern(bytes, bytes);
    get.local.resize(bytes);
    ASSERT_EQ(owner.peer.fast_register(contiguous(get.memory), STRIA_ACCESS_REMOTE_READ, get.key, owner.link),
              Status::ok);
    Status status = Status::no_resource;
    ASSERT_TRUE(run([&] {
      status = reader.peer.get(reader.link, contiguous(get.local), get.key, 0, get.ending);
      return status != Status::no_resource;
    }));
    ASSERT_EQ(status, Status::in_progress);
  }
  void check_gets(Side& reader, Side& owner) {
    while (!reader.gets.empty() && reader.gets.front().ending.calls > 0) {
      Get& get = reader.gets.front();
      ASSERT_EQ(get.ending.calls, 1);
      ASSERT_EQ(get.ending.status, Status::ok);
      ASSERT_TRUE(get.local == get.memory);
      ASSERT_EQ(owner.peer.invalidate(get.key), Status::ok);
      reader.gets.pop_front();
    }
  }
  void check_all() {
    check(one, other);
    check(other, one);
    check_gets(one, other);
    check_gets(other, one);
    ASSERT_TRUE(one.peer.downs.empty());
    ASSERT_TRUE(other.peer.downs.empty());
  }
  void expect_all() {
    EXPECT_TRUE(run([&] {
      check_all();
      const bool all = one.checked == other.lengths.size() && other.checked == one.lengths.size();
      return HasFatalFailure() || (all && one.gets.empty() && other.gets.empty());
    }));
    EXPECT_EQ(one.checked, other.lengths.size());
    EXPECT_EQ(other.checked, one.lengths.size());
    EXPECT_EQ(one.gets.size() + other.gets.size(), 0u);
  }
  Side one{1}, other{2};
};

TEST_F(TcpReset, whichever_end_it_is_told_to_the_link_goes_on) {
  for (std::size_t end = 0; end < 2; ++end) {
    const auto all = connections_of_this_process();
    ASSERT_EQ(all.size(), 2u);
    for (std::size_t i = 0; i < 20; ++i) {
      ASSERT_TRUE(try_send(one, 100 * i));
      ASSERT_TRUE(try_send(other, 1000 * i));
    }
    ASSERT_EQ(reset_connection(all[end]), 0);
    for (std::size_t i = 0; i < 20; ++i) {
      send(one, 100 * i);
      send(other, 1000 * i);
    }
    expect_all();
  }
}

TEST_F(TcpReset, of_a_link_without_traffic_is_mended) {
  const auto before = connections_of_this_process();
  ASSERT_EQ(reset_connection(before[0]), 0);
  ASSERT_TRUE(run([] { return connections_of_this_process().size() < 2; }));
  ASSERT_TRUE(run([] { return connections_of_this_process().size() == 2; }));
  send(one, 10);
  send(other, 10);
  expect_all();
}

TEST_F(TcpReset, of_bulk_connections_the_rest_of_long_messages_is_requested_once_more) {
  constexpr std::size_t kBytes = 8 << 20;
  for (int round = 0; round < 4; ++round) {
    read(one, other, kBytes + static_cast<std::size_t>(round));
    read(other, one, kBytes + 100 + static_cast<std::size_t>(round));
    contract::drive_for({&one.peer, &other.peer}, 40 + 100 * round);
    for (const int end : connections_of_this_process())
      if (round % 2 == 0 || end % 2 == 0) reset_connection(end);  // the far ends of some are gone by now
    expect_all();
  }
}

/// Where nothing was under way nothing need be retained.
TEST_F(TcpReset, of_links_that_retain_nothing_is_mended_when_all_has_come) {
  ::setenv("STRIA_TCP_RETAIN", "off", 1);
  Side left(51), right(52);
  ::unsetenv("STRIA_TCP_RETAIN");
  left.link = left.peer.connect(right.peer);
  const auto run_both = [&](const std::function<bool()>& done) {
    return drive({&left.peer, &right.peer}, done);
  };
  for (const std::size_t bytes : {0u, 500u, 60000u}) {
    ASSERT_TRUE(run_both([&] { return try_send(left, bytes); }));
    ASSERT_TRUE(run_both([&] { return right.peer.received.size() == left.lengths.size(); }));
    for (const int end : connections_of_this_process()) reset_connection(end);
  }
  ASSERT_TRUE(run_both([&] { return try_send(left, 1); }));
  ASSERT_TRUE(run_both([&] { return right.peer.received.size() == left.lengths.size(); }));
  EXPECT_TRUE(left.peer.downs.empty());
  check(right, left);
}

/// Packets of all lengths both ways, some of which are placed, and long messages, while any connection is
/// reset now and then.
TEST_F(TcpReset, at_any_time_loses_nothing_and_repeats_nothing) {
  const auto seed = static_cast<unsigned>(test::from_environment("STRIA_TEST_SEED", 20271));
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (Side* const side : {&one, &other})
    side->peer.places = [side, &random](const stria_header_t&, std::uint32_t length, stria_payload_t& place) {
      if (random() % 2 == 0) return false;
      place = contiguous(side->rooms.emplace_back(length).data(), length);
      return true;
    };
  int resets = 0;
  for (std::int64_t left = test::rounds(20000); left > 0 && !HasFatalFailure(); --left) {
    Side& from = random() % 2 == 0 ? one : other;
    try_send(from, random() % 16 == 0 ? random() % 65536 : random() % 700);
    if (random() % 400 == 0) {
      Side& reader = random() % 2 == 0 ? one : other;
      read(reader, &reader == &one ? other : one, 1 + random() % (4 << 20));
    }
    if (random() % 4 == 0) (random() % 2 == 0 ? one : other).peer.progress();
    if (random() % 300 == 0) {
      const auto all = connections_of_this_process();
      if (!all.empty() && reset_connection(all[random() % all.size()]) == 0) ++resets;
    }
    if (random() % 64 == 0) check_all();
  }
  EXPECT_GT(resets, 0);
  expect_all();
}

/// A device that is closed with packets that it has not read resets its connections, as the system does for
/// a process that dies.
TEST_F(TcpReset, by_the_end_of_the_peer_ends_the_link_at_once) {
  for (const bool is_dialler : {true, false}) {
    Side left(21), right(22);
    left.link = left.peer.connect(right.peer);
    const auto run_both = [&](const std::function<bool()>& done) {
      return drive({&left.peer, &right.peer}, done);
    };
    ASSERT_TRUE(run_both([&] { return try_send(left, 0); }));
    ASSERT_TRUE(run_both([&] { return !right.peer.received.empty(); }));
    right.link = right.peer.ups[21];
    Side& dies = is_dialler ? left : right;
    Side& stays = is_dialler ? right : left;
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(try_send(stays, 10000));
    dies.peer.close(0);
    EXPECT_TRUE(drive({&stays.peer}, [&] { return !stays.peer.downs.empty(); })) << "a silent host has 30 s";
    ASSERT_EQ(stays.peer.downs.size(), 1u);
    EXPECT_EQ(stays.peer.downs[0]->why, Status::peer_failed);
  }
}

/// A peer by hand, which dials and then never comes back, although something listens on its port.
TEST_F(TcpReset, of_a_peer_that_does_not_come_back_ends_the_link_at_the_limit) {
  ::setenv("STRIA_TCP_SILENT_MS", "1500", 1);
  Peer device(tcp_provider(), 31);
  ::unsetenv("STRIA_TCP_SILENT_MS");
  std::uint16_t port = 0;
  const UniqueFd door = *listen_on({}, port);
  const Address target = read_address(device);
  Handshake own(32, 33, 65536, bytes_of(kSecret), {});
  own.listens_on(port);
  Attempt attempt(own, target, Route{target.ips.front()}, now_ms());
  ASSERT_EQ(shake_hands(device, attempt, own), Attempt::State::welcome) << attempt.why();
  ASSERT_TRUE(drive({&device}, [&] { return device.ups.count(32) == 1; }));
  const UniqueFd socket = attempt.take_socket();
  const std::uint64_t begun = now_ms();
  ASSERT_EQ(reset_connection(socket.get()), 0);
  EXPECT_EQ(device.limits(device.ups[32]).can_get, 1u);
  const auto turn_away = [&door] { static_cast<void>(accept_connection(door)); };
  ::fcntl(door.get(), F_SETFL, O_NONBLOCK);
  ASSERT_TRUE(drive({&device}, [&] {
    turn_away();
    return !device.downs.empty();
  }));
  EXPECT_GE(now_ms() - begun, 1500u);
  EXPECT_EQ(device.downs[0]->why, Status::peer_failed);
}

/// A peer that comes back and says that it has got more than was sent, or less than it had acknowledged.
TEST_F(TcpReset, of_a_peer_that_has_lost_what_it_had_ends_the_link) {
  for (const std::uint64_t received : {~0ull >> 1, 0ull}) {
    Peer device(tcp_provider(), 41);
    const Address target = read_address(device);
    const Handshake own(42, 43, 65536, bytes_of(kSecret), {});
    Attempt first(own, target, Route{target.ips.front()}, now_ms());
    ASSERT_EQ(shake_hands(device, first, own), Attempt::State::welcome) << first.why();
    ASSERT_TRUE(drive({&device}, [&] { return device.ups.count(42) == 1; }));
    UniqueFd socket = first.take_socket();
    const RecordHead nothing{0, RecordKind::padding, {}};
    say(socket, std::as_bytes(std::span(&nothing, 1)));  // the link is up on this side
    contract::drive_for({&device}, 1000);
    const Bytes payload = contract::pattern(1, 40000);
    for (std::size_t came = 0, sent = 0; sent < 3; came = 0, ++sent) {
      ASSERT_EQ(contract::send({&device}, device, device.ups[42], contract::Path::buffered,
                               contract::header(1), payload),
                Status::ok);
      Bytes some(sizeof(RecordHead) + payload.size());
      ASSERT_TRUE(drive({&device}, [&] {
        const ssize_t got = ::recv(socket.get(), some.data() + came, some.size() - came, MSG_DONTWAIT);
        if (got > 0) came += static_cast<std::size_t>(got);
        return came == some.size();
      }));
    }
    Attempt second(own, target, Route{target.ips.front()}, now_ms(), {kForMore, received});
    ASSERT_EQ(shake_hands(device, second, own), Attempt::State::welcome) << second.why();
    EXPECT_EQ(second.received(), sizeof nothing);
    ASSERT_TRUE(drive({&device}, [&] { return !device.downs.empty(); }));
    EXPECT_EQ(device.downs[0]->why, Status::peer_failed);
  }
}

}  // namespace
}  // namespace stria::tcp
