// Long messages over bulk connections: what a peer may request, and what it gets; keys that end while their
// bytes are on the way; peers that have no such connections, or die.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <memory>
#include <random>

#include "datatype/layout.hpp"
#include "tests/transport/tcp/device_rig.hpp"
#include "transport/payload.hpp"
#include "transport/tcp/kernel_queue.hpp"
#include "transport/tcp/keys.hpp"
#include "transport/tcp/record.hpp"
#include "transport/tcp/wakeup.hpp"

namespace stria::tcp {
namespace {

using contract::Bytes;
using contract::contiguous;
using contract::drive_for;
using contract::Ending;
using datatype::Layout;

constexpr std::size_t kMiB = 1 << 20;

class Lanes {
 public:
  explicit Lanes(const char* count) { ::setenv("STRIA_TCP_BULK_CONNECTIONS", count, 1); }
  ~Lanes() { ::unsetenv("STRIA_TCP_BULK_CONNECTIONS"); }
};

/// A get under way, and the bytes that it is to bring.
struct Read {
  Bytes local, expected;
  Ending ending;
  std::unique_ptr<Layout> layout;
};

/// Two devices, connected, the one with the number `dials` by its own connection.
struct Two {
  explicit Two(unsigned dials) {
    Peer& dialler = dials == 1 ? a : b;
    Peer& other = dials == 1 ? b : a;
    stria_link_t* const link = dialler.connect(other);
    EXPECT_EQ(contract::send({&a, &b}, dialler, link, contract::Path::buffered, contract::header(0), {}),
              Status::ok);
    EXPECT_TRUE(drive({&a, &b}, [&] { return !other.received.empty(); }));
    to_b = dials == 1 ? link : a.ups[2];
    to_a = dials == 1 ? b.ups[1] : link;
  }
  bool run(const std::function<bool()>& done) { return drive({&a, &b}, done); }
  Peer a{tcp_provider(), 1}, b{tcp_provider(), 2};
  stria_link_t *to_b = nullptr, *to_a = nullptr;
};

stria_provider_key_t key_to(Peer& owner, stria_link_t* link, const stria_payload_t& memory) {
  stria_provider_key_t key{};
  EXPECT_EQ(owner.fast_register(memory, STRIA_ACCESS_REMOTE_READ, key, link), Status::ok);
  return key;
}

TEST(TcpBulk, brings_long_messages_both_ways_whoever_made_the_link_and_over_any_number_of_lanes) {
  for (const char* lanes : {"1", "2", "5"}) {
    const Lanes setting(lanes);
    for (const unsigned dials : {1u, 2u}) {
      Two two(dials);
      std::mt19937 random(7 * dials);
      std::vector<Bytes> remote;
      std::deque<Read> reads;
      for (unsigned i = 0; i < 12; ++i) {
        remote.push_back(contract::pattern(i, 1 + random() % (3 * kMiB)));
        const bool from_a = i % 2 == 0;
        Peer& owner = from_a ? two.b : two.a;
        const auto key = key_to(owner, from_a ? two.to_a : two.to_b, contiguous(remote.back()));
        Read& read = reads.emplace_back();
        read.local.resize(remote.back().size());
        ASSERT_EQ((from_a ? two.a : two.b)
                      .get(from_a ? two.to_b : two.to_a, contiguous(read.local), key, 0, read.ending),
                  Status::in_progress);
      }
      ASSERT_TRUE(two.run([&] {
        return std::all_of(reads.begin(), reads.end(), [](const Read& one) { return one.ending.calls > 0; });
      }));
      for (unsigned i = 0; i < reads.size(); ++i) {
        EXPECT_EQ(reads[i].ending.status, Status::ok);
        EXPECT_EQ(reads[i].ending.calls, 1);
        EXPECT_EQ(reads[i].local, remote[i]) << "message " << i << ", lanes " << lanes;
      }
    }
  }
}

/// `count` blocks of `block` bytes, `stride` apart.
std::unique_ptr<Layout> blocks(std::int64_t count, std::int64_t block, std::int64_t stride) {
  return std::make_unique<Layout>(*Layout::vector(count, 1, stride, Layout::bytes(block)));
}

TEST(TcpBulk, reads_blocks_of_any_size_into_blocks_of_any_size) {
  const unsigned seed = 20261129;
  std::mt19937 random(seed);
  Two two(1);
  for (unsigned round = 0; round < 40; ++round) {
    const std::int64_t block = 1 + random() % (round % 2 == 0 ? 300 : 9000);
    const std::int64_t count = 1 + 700000 / block;
    const auto source = blocks(count, block, block + random() % 100);
    const Bytes memory = contract::pattern(round, static_cast<std::size_t>(source->extent()));
    const std::int64_t sink_block = 1 + random() % (round % 3 == 0 ? 300 : 9000);
    const std::int64_t sink_count = count * block / sink_block;
    const auto sink = blocks(sink_count, sink_block, sink_block + random() % 100);
    Bytes local = contract::pattern(1000 + round, static_cast<std::size_t>(sink->extent())), expected = local;
    const std::int64_t bytes = sink_count * sink_block, offset = random() % (count * block - bytes + 1);
    const stria_payload_t remote{source.get(), const_cast<std::byte*>(memory.data()), 1, 0, 0};
    const stria_payload_t target{sink.get(), local.data(), 1, 0, bytes};
    Bytes stream(static_cast<std::size_t>(bytes));
    transport::pack({source.get(), const_cast<std::byte*>(memory.data()), 1, offset, bytes}, stream.data());
    transport::unpack({sink.get(), expected.data(), 1, 0, bytes}, stream.data());
    const auto key = key_to(two.b, two.to_a, remote);
    Ending ending;
    ASSERT_EQ(two.a.get(two.to_b, target, key, static_cast<std::uint64_t>(offset), ending),
              Status::in_progress);
    ASSERT_TRUE(two.run([&] { return ending.calls > 0; }));
    ASSERT_EQ(ending.status, Status::ok);
    ASSERT_EQ(local, expected) << "round " << round << ", seed " << seed;
    EXPECT_EQ(two.b.invalidate(key), Status::ok);
  }
}

TEST(TcpBulk, brings_what_the_memory_held_when_its_key_ended_or_nothing) {
  unsigned refused = 0, whole = 0;
  for (int steps = 0; steps < 30; steps += 3) {
    Two two(1);
    Bytes remote = contract::pattern(1, 4 * kMiB);
    const Bytes before(remote.begin(), remote.end());
    const auto key = key_to(two.b, two.to_a, contiguous(remote));
    Bytes local(remote.size(), std::byte{0x33});
    Ending ending;
    ASSERT_EQ(two.a.get(two.to_b, contiguous(local), key, 0, ending), Status::in_progress);
    // The owner sends until the system is full; the reader does not read yet.
    for (int i = 0; i < 20; ++i) drive_for({&two.a, &two.b}, 1);
    for (int i = 0; i < steps; ++i) two.b.progress();
    for (int i = 0; i < steps; ++i) two.a.progress();
    EXPECT_EQ(two.b.invalidate(key), Status::ok);
    std::fill(remote.begin(), remote.end(), std::byte{0x66});
    ASSERT_TRUE(two.run([&] { return ending.calls > 0; }));
    EXPECT_TRUE(ending.status == Status::ok || ending.status == Status::access_error);
    (ending.status == Status::ok ? whole : refused) += 1;
    for (std::size_t i = 0; i < local.size(); ++i)
      ASSERT_TRUE(local[i] == before[i] || local[i] == std::byte{0x33}) << "byte " << i;
    EXPECT_TRUE(ending.status != Status::ok || local == before);
    EXPECT_TRUE(two.a.downs.empty() && two.b.downs.empty());
  }
  EXPECT_GT(refused + whole, 0u);
}

TEST(TcpBulk, goes_on_while_nobody_calls) {
  const UniqueFd any(::dup(0));
  {  // What two devices need.
    const auto first = Wakeup::open(any.get()), second = Wakeup::open(any.get());
    const auto queue = KernelQueue::open(), other = KernelQueue::open();
    if (!second) GTEST_SKIP() << second.error().context;
    if (!other) GTEST_SKIP() << other.error().context;
  }
  for (const std::int64_t block : {0, 256 << 10}) {  // contiguous, and a few long blocks
    Two two(1);
    const auto bytes = static_cast<std::int64_t>(16 * kMiB);
    const auto layout = block > 0 ? blocks(bytes / block, block, block + 4096) : nullptr;
    const std::int64_t extent = layout != nullptr ? layout->extent() : bytes;
    const Bytes remote = contract::pattern(5, static_cast<std::size_t>(bytes));
    Bytes local(static_cast<std::size_t>(extent)), stream(remote.size());
    const stria_payload_t target{layout.get(), local.data(), layout != nullptr ? 1 : extent, 0, bytes};
    const auto key = key_to(two.b, two.to_a, contiguous(remote));
    Ending ending;
    ASSERT_NE(local.front(), remote.front());
    ASSERT_NE(local.back(), remote.back());
    ASSERT_EQ(two.a.get(two.to_b, target, key, 0, ending), Status::in_progress);
    ASSERT_TRUE(two.run([&] { return local.front() == remote.front(); }));
    const volatile std::byte& last = local.back();
    const std::uint64_t limit = now_ms() + 60000;
    while (last != remote.back() && now_ms() < limit) {
    }
    EXPECT_TRUE(last == remote.back()) << "block " << block;
    ASSERT_TRUE(two.run([&] { return ending.calls > 0; }));
    EXPECT_EQ(ending.status, Status::ok);
    transport::pack(target, stream.data());
    EXPECT_TRUE(stream == remote);
  }
}

TEST(TcpBulk, ends_gets_with_their_peer) {
  for (int steps = 0; steps < 60; steps += 3) {
    Two two(steps % 2 == 0 ? 1 : 2);
    Bytes remote = contract::pattern(1, 4 * kMiB), local(remote.size());
    const auto key = key_to(two.b, two.to_a, contiguous(remote));
    Ending ending;
    ASSERT_EQ(two.a.get(two.to_b, contiguous(local), key, 0, ending), Status::in_progress);
    drive_for({&two.a, &two.b}, steps);
    two.b.close(0);
    ASSERT_TRUE(drive({&two.a}, [&] { return !two.a.downs.empty(); }));
    ASSERT_EQ(ending.calls, 1) << "before link_down";
    EXPECT_TRUE(ending.status == Status::ok || ending.status == Status::peer_failed)
        << to_string(ending.status);
  }
}

TEST(TcpBulk, may_be_closed_while_pieces_are_under_way) {
  for (int steps = 0; steps < 40; steps += 3) {
    Bytes remote = contract::pattern(1, 4 * kMiB), local(remote.size());
    Ending ending;
    Two two(1);
    const auto key = key_to(two.b, two.to_a, contiguous(remote));
    ASSERT_EQ(two.a.get(two.to_b, contiguous(local), key, 0, ending), Status::in_progress);
    drive_for({&two.a, &two.b}, steps);
    two.a.close(0);
    const int calls = ending.calls;
    local = {};  // nothing writes there any more
    ASSERT_TRUE(drive({&two.b}, [&] { return !two.b.downs.empty(); }));
    EXPECT_EQ(ending.calls, calls);
  }
}

constexpr std::uint32_t kLane = lane_purpose(0, 1);

/// A peer by hand: its first connection, and what it says over it.
struct TcpRequests : testing::Test {
  TcpRequests() {
    socket = connect(kForPackets);
    EXPECT_TRUE(drive({&device}, [&] { return device.ups.count(2) == 1; }));
  }
  UniqueFd connect(std::uint32_t purpose) {
    Attempt attempt(own, target, Route{target.ips.front()}, now_ms(), {purpose});
    EXPECT_EQ(shake_hands(device, attempt, own), Attempt::State::welcome) << attempt.why();
    return attempt.take_socket();
  }
  void say_record(RecordKind kind, std::span<const std::byte> payload) {
    const RecordHead head{static_cast<std::uint32_t>(payload.size()), kind, {}};
    say(socket, std::as_bytes(std::span(&head, 1)));
    say(socket, payload);
  }
  void request(const stria_provider_key_t& key, std::uint64_t offset, std::uint32_t length,
               std::uint32_t lane = kLane) {
    PieceRequest request{{}, offset, length, lane};
    EXPECT_TRUE(Keys::read(key, request.key));
    say_record(RecordKind::request, std::as_bytes(std::span(&request, 1)));
  }
  void resume(std::uint32_t lane = kLane) {
    const Resume where{lane};
    say_record(RecordKind::resume, std::as_bytes(std::span(&where, 1)));
  }
  /// The next bytes of a socket of this peer.
  Bytes read(const UniqueFd& from, std::size_t bytes) {
    Bytes out(bytes);
    std::size_t got = 0;
    EXPECT_TRUE(drive({&device}, [&] {
      const ssize_t some = ::recv(from.get(), out.data() + got, bytes - got, MSG_DONTWAIT);
      if (some > 0) got += static_cast<std::size_t>(some);
      return got == bytes || some == 0;
    }));
    out.resize(got);
    return out;
  }
  PieceHead read_head(const UniqueFd& lane) {
    PieceHead head{~0u, ~0u};
    const Bytes bytes = read(lane, sizeof head);
    if (bytes.size() == sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
    return head;
  }
  void expect_end() {
    ASSERT_TRUE(drive({&device}, [&] { return device.downs.size() == 1; }));
    EXPECT_EQ(device.downs[0]->why, Status::io_error);
  }
  Peer device{tcp_provider(), 1};
  const Address target = read_address(device);
  const Handshake own{2, 22, 65536, bytes_of(kSecret), {}};
  UniqueFd socket;
};

TEST_F(TcpRequests, are_answered_in_their_order_and_refused_where_the_key_does_not_allow_them) {
  const Bytes memory = contract::pattern(3, 100000);
  const auto key = key_to(device, device.ups[2], contiguous(memory));
  const auto ended = key_to(device, device.ups[2], contiguous(memory));
  stria_provider_key_t other{};  // of another peer's link
  Peer third(tcp_provider(), 3);
  stria_link_t* const to_third = device.connect(third);
  ASSERT_EQ(device.fast_register(contiguous(memory), STRIA_ACCESS_REMOTE_READ, other, to_third), Status::ok);
  EXPECT_EQ(device.invalidate(ended), Status::ok);
  const UniqueFd lane = connect(kLane);
  request(key, 10, 5000);
  request(ended, 0, 100);
  request(other, 0, 100);
  request(key, 99990, 11);
  request(key, ~0ull, 2);
  request(key, 99990, 10);
  const PieceHead first = read_head(lane);
  EXPECT_TRUE(first.refused == 0 && first.length == 5000);
  EXPECT_EQ(read(lane, 5000), Bytes(memory.begin() + 10, memory.begin() + 5010));
  for (const std::uint32_t length : {100u, 100u, 11u, 2u}) {
    const PieceHead head = read_head(lane);
    EXPECT_TRUE(head.refused == 1 && head.length == length) << length;
    drive_for({&device}, 20);
    EXPECT_EQ(hear(lane), -EAGAIN) << "nothing before the answer";
    resume();
  }
  EXPECT_EQ(read_head(lane).length, 10u);
  EXPECT_EQ(read(lane, 10), Bytes(memory.end() - 10, memory.end()));
  EXPECT_TRUE(device.downs.empty());
}

/// Bytes that are more than the system takes before the peer reads.
std::uint32_t more_than_fits(const UniqueFd& reader) {
  const int small = 65536;
  EXPECT_EQ(::setsockopt(reader.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
  std::ifstream limits("/proc/sys/net/ipv4/tcp_wmem");
  std::uint64_t least = 0, usual = 0, most = 0;
  limits >> least >> usual >> most;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(4 * most, 32 * kMiB, 1024 * kMiB));
}

TEST_F(TcpRequests, whose_key_ends_half_way_get_what_the_memory_held) {
  const UniqueFd lane = connect(kLane);
  const std::uint32_t bytes = more_than_fits(lane);
  Bytes memory = contract::pattern(3, bytes);
  const Bytes before(memory.begin(), memory.end());
  const auto key = key_to(device, device.ups[2], contiguous(memory));
  request(key, 0, bytes);
  request(key, 0, 100);
  drive_for({&device}, 200);
  EXPECT_EQ(device.invalidate(key), Status::ok);
  std::fill(memory.begin(), memory.end(), std::byte{0x66});
  const PieceHead first = read_head(lane);
  EXPECT_TRUE(first.refused == 0 && first.length == bytes);
  EXPECT_TRUE(read(lane, bytes) == before);
  const PieceHead second = read_head(lane);
  EXPECT_TRUE(second.refused == 1 && second.length == 100) << "it had not begun";
}

TEST_F(TcpRequests, of_a_lane_that_there_is_not_end_the_link) {
  const Bytes memory = contract::pattern(3, 1000);
  const auto key = key_to(device, device.ups[2], contiguous(memory));
  request(key, 0, 10, 3);
  expect_end();
}

TEST_F(TcpRequests, of_more_pieces_than_a_lane_has_end_the_link) {
  const Bytes memory = contract::pattern(3, 64 * kMiB);
  const auto key = key_to(device, device.ups[2], contiguous(memory));
  const UniqueFd lane = connect(kLane);
  for (std::uint32_t i = 0; i <= kPiecesMost + kPiecesOfKernel; ++i) request(key, 0, 64 * kMiB);
  expect_end();
}

TEST_F(TcpRequests, answers_to_no_refusal_end_the_link) {
  const UniqueFd lane = connect(kLane);
  resume();
  expect_end();
}

TEST_F(TcpRequests, that_are_none_end_the_link) {
  const PieceRequest cut{};
  say_record(RecordKind::request, std::as_bytes(std::span(&cut, 1)).first(8));
  expect_end();
}

TEST_F(TcpRequests, bytes_that_were_not_requested_end_the_link) {
  const UniqueFd lane = connect(kLane);
  const PieceHead head{0, 8};
  say(lane, std::as_bytes(std::span(&head, 1)));
  expect_end();
}

TEST_F(TcpRequests, a_piece_of_another_length_ends_the_link_and_its_get) {
  const UniqueFd lane = connect(kLane);
  Bytes local(1000);
  Ending ending;
  const auto key = key_to(device, device.ups[2], contiguous(local));  // only its form matters
  ASSERT_EQ(device.get(device.ups[2], contiguous(local), key, 0, ending), Status::in_progress);
  const PieceHead head{0, 999};
  say(lane, std::as_bytes(std::span(&head, 1)));
  expect_end();
  EXPECT_EQ(ending.calls, 1);
  EXPECT_EQ(ending.status, Status::peer_failed);
}

/// A get of the device from this peer, which has not made a lane.
struct TcpWithoutLane : TcpRequests {
  TcpWithoutLane() {
    key = key_to(device, device.ups[2], contiguous(local));  // only its form matters
    EXPECT_EQ(device.get(device.ups[2], contiguous(local), key, 0, ending), Status::in_progress);
    RecordHead head;
    const Bytes said = read(socket, sizeof head);
    EXPECT_EQ(said.size(), sizeof head);
    std::memcpy(&head, said.data(), sizeof head);
    EXPECT_EQ(head.kind, RecordKind::want_bulk);
  }
  stria_provider_key_t key{};
  Bytes local = Bytes(500);
  Ending ending;
};

TEST_F(TcpWithoutLane, that_can_make_none_the_get_is_refused_and_the_link_stays) {
  say_record(RecordKind::no_bulk, {});
  ASSERT_TRUE(drive({&device}, [&] { return ending.calls == 1; }));
  EXPECT_EQ(ending.status, Status::unsupported);
  EXPECT_EQ(device.limits(device.ups[2]).can_get, 0u);
  Ending another;
  EXPECT_EQ(device.get(device.ups[2], contiguous(local), key, 0, another), Status::unsupported);
  EXPECT_TRUE(device.downs.empty());
}

TEST_F(TcpWithoutLane, that_makes_one_the_get_is_requested_of_it) {
  const UniqueFd lane = connect(kLane);
  RecordHead head;
  Bytes said = read(socket, sizeof head + sizeof(PieceRequest));
  std::memcpy(&head, said.data(), sizeof head);
  EXPECT_EQ(head.kind, RecordKind::request);
  const PieceHead piece{0, 500};
  say(lane, std::as_bytes(std::span(&piece, 1)));
  const Bytes bytes = contract::pattern(9, 500);
  say(lane, std::span(bytes).first(123));
  drive_for({&device}, 5);
  EXPECT_EQ(ending.calls, 0);
  say(lane, std::span(bytes).subspan(123));
  ASSERT_TRUE(drive({&device}, [&] { return ending.calls == 1; }));
  EXPECT_EQ(ending.status, Status::ok);
  EXPECT_EQ(local, bytes);
}

}  // namespace
}  // namespace stria::tcp
