// Records that wait for others: they go together, at the latest when the kernel's deadline is over, each once
// and in their order, whenever that is.
#include "transport/tcp/outgoing.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <random>
#include <thread>

#include "datatype/layout.hpp"
#include "tests/contract/peer.hpp"
#include "tests/rounds.hpp"
#include "tests/transport/tcp/socket_pair.hpp"
#include "transport/payload.hpp"
#include "transport/services.hpp"
#include "transport/tcp/incoming.hpp"

namespace stria::tcp {
namespace {

constexpr std::uint32_t kEagerMost = 65536;
constexpr Token kLink = 8;

/// Takes what comes for packets, and notes them.
struct Collector final : Control {
  Collector() : incoming(pool, sink, transport::services(), *this, kEagerMost) {
    sink.self = this;
    sink.deliver = [](void* self, void*, const stria_packet_t* packet) noexcept {
      auto& all = static_cast<Collector*>(self)->packets;
      const auto* const begin = static_cast<const std::byte*>(packet->payload);
      all.push_back({begin, begin + packet->bytes});
      return STRIA_DELIVERED_GO_ON;
    };
    sink.place = [](void*, void*, const stria_header_t*, std::uint32_t, stria_payload_t*) noexcept {
      return 0;
    };
  }
  bool handle(RecordKind, std::span<const std::byte>) noexcept override { return false; }
  Incoming::After receive(const UniqueFd& socket) {
    return incoming.receive(socket, nothing, 1u << 20).after;
  }
  /// Until `count` packets are here, or for a minute; then looks whether more have come.
  void receive_all(const UniqueFd& socket, std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (packets.size() < count && std::chrono::steady_clock::now() < end)
      ASSERT_EQ(receive(socket), Incoming::After::idle);
    for (int i = 0; i < 10; ++i) ASSERT_EQ(receive(socket), Incoming::After::idle);
    ASSERT_EQ(packets.size(), count);
  }
  void* nothing = nullptr;
  std::deque<contract::Bytes> packets;
  stria_sink_t sink{};
  BufferPool pool{buffer_bytes(kEagerMost)};
  Incoming incoming;
};

struct TcpOutgoing : testing::Test, SocketPair {
  void SetUp() override {
    auto made = KernelQueue::open();
    if (!made && made.error().status == Status::unsupported) GTEST_SKIP() << made.error().context;
    ASSERT_TRUE(made) << made.error().context;
    queue = *std::move(made);
  }
  Status send(Outgoing& outgoing, std::uint64_t seed, std::size_t bytes, Outgoing::When when) {
    contract::Bytes payload = contract::pattern(seed, bytes);
    return outgoing.send(one, contract::header(1), contract::contiguous(payload.data(), bytes), when);
  }
  /// Bytes that have come and were not read.
  std::size_t here() {
    std::array<std::byte, 4096> some;
    const ssize_t got = ::recv(other.get(), some.data(), some.size(), MSG_PEEK | MSG_DONTWAIT);
    return got < 0 ? 0 : static_cast<std::size_t>(got);
  }
  /// What is here as soon as that is `bytes` or more, or in a minute.
  std::size_t here_in_the_end(std::size_t bytes) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (here() < bytes && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return here();
  }
  BufferPool pool{buffer_bytes(kEagerMost)};
  BufferPool retained{Retained::kBytes};
  std::unique_ptr<KernelQueue> queue;
};

constexpr std::chrono::nanoseconds kNever = std::chrono::minutes(1);
// Longer than a busy machine keeps this thread from running.
constexpr std::chrono::nanoseconds kSoon = std::chrono::milliseconds(500);

TEST_F(TcpOutgoing, goes_at_the_deadline_while_its_thread_computes) {
  Outgoing outgoing(pool, retained, transport::services(), kLink, kSoon);
  std::atomic<bool> came{false};
  Collector collector;
  std::thread receiver([&] {
    while (collector.packets.size() < 3 && collector.receive(other) == Incoming::After::idle)
      std::this_thread::yield();
    came = true;
  });
  ASSERT_EQ(send(outgoing, 1, 40, {}), Status::ok);
  ASSERT_EQ(send(outgoing, 2, 50, {.waits = true, .keeper = queue.get()}), Status::ok);
  ASSERT_EQ(send(outgoing, 3, 60, {.waits = true, .keeper = queue.get()}), Status::ok);
  EXPECT_TRUE(outgoing.has_deadline());
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!came && std::chrono::steady_clock::now() < limit) {
  }
  EXPECT_TRUE(came);
  if (!came) ::shutdown(one.get(), SHUT_RDWR);
  receiver.join();
  ASSERT_EQ(collector.packets.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(collector.packets[i], contract::pattern(i + 1, 40 + 10 * i));
}

TEST_F(TcpOutgoing, waits_until_it_is_flushed_and_then_goes_at_once) {
  Outgoing outgoing(pool, retained, transport::services(), kLink, kNever);
  const Outgoing::When waits{.waits = true, .keeper = queue.get()};
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_EQ(send(outgoing, i, 20 * i, waits), Status::ok);
  EXPECT_EQ(here(), 0u);
  EXPECT_EQ(outgoing.flush(one), Status::ok);
  EXPECT_TRUE(outgoing.is_empty());
  EXPECT_FALSE(outgoing.has_deadline());
  EXPECT_EQ(here_in_the_end(5 * sizeof(RecordHead) + 200), 5 * sizeof(RecordHead) + 200)
      << "the records, and nothing else";
}

TEST_F(TcpOutgoing, goes_before_a_record_that_does_not_wait) {
  Outgoing outgoing(pool, retained, transport::services(), kLink, kNever);
  const Outgoing::When waits{.waits = true, .keeper = queue.get()};
  Collector collector;
  std::uint64_t count = 0;
  for (const std::size_t bytes : {100u, 30000u, 1025u, 4097u, 100u, 1024u}) {
    ASSERT_EQ(send(outgoing, count++, 10, waits), Status::ok);
    ASSERT_EQ(send(outgoing, count++, bytes, bytes > 1024 ? waits : Outgoing::When{}), Status::ok);
    EXPECT_TRUE(outgoing.is_empty());
  }
  ASSERT_NO_FATAL_FAILURE(collector.receive_all(other, count));
  EXPECT_EQ(collector.packets[3], contract::pattern(3, 30000));
  EXPECT_EQ(collector.packets[10], contract::pattern(10, 10));
  EXPECT_EQ(collector.packets[11], contract::pattern(11, 1024));
}

TEST_F(TcpOutgoing, goes_before_a_record_that_means_nothing) {
  Outgoing outgoing(pool, retained, transport::services(), kLink, kNever);
  const Outgoing::When waits{.waits = true, .keeper = queue.get()};
  Collector collector;
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(send(outgoing, 2 * i, 100, waits), Status::ok);
    ASSERT_TRUE(outgoing.has_deadline());
    EXPECT_TRUE(outgoing.send_nothing(one));
    EXPECT_FALSE(outgoing.has_deadline());
    ASSERT_EQ(send(outgoing, 2 * i + 1, 50, {}), Status::ok);
  }
  ASSERT_NO_FATAL_FAILURE(collector.receive_all(other, 6));
  for (std::uint64_t i = 0; i < 6; ++i)
    EXPECT_EQ(collector.packets[i], contract::pattern(i, i % 2 == 0 ? 100 : 50));
}

/// A stream goes on over another connection, from each byte at which the first one may have ended.
TEST_F(TcpOutgoing, goes_on_over_another_connection_from_wherever_the_peer_is) {
  constexpr std::size_t kSizes[] = {0, 30, 5000, 100, 20000};
  for (std::uint64_t cut = 0; cut < 26000; cut += 1 + cut / 16) {
    SocketPair first, second;
    Outgoing outgoing(pool, retained, transport::services(), kLink, kNever);
    outgoing.trust_acknowledgements(false);  // so that all is retained
    Collector collector;
    std::uint64_t number = 0;
    for (const std::size_t bytes : kSizes) {
      const contract::Bytes payload = contract::pattern(number, bytes);
      ASSERT_EQ(outgoing.send(first.one, contract::header(1), contract::contiguous(payload), {}), Status::ok);
      ++number;
    }
    // The peer has got so much of it.
    contract::Bytes some(26000);
    std::size_t bytes_sent = 0;
    for (const std::size_t bytes : kSizes) bytes_sent += sizeof(RecordHead) + bytes;
    const timeval limit{60, 0};
    ASSERT_EQ(::setsockopt(first.other.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    const ssize_t all = ::recv(first.other.get(), some.data(), bytes_sent, MSG_WAITALL | MSG_PEEK);
    ASSERT_EQ(all, static_cast<ssize_t>(bytes_sent));
    const std::uint64_t got = std::min<std::uint64_t>(cut, static_cast<std::uint64_t>(all));
    SocketPair part;
    ASSERT_EQ(::send(part.one.get(), some.data(), got, 0), static_cast<ssize_t>(got));
    ::shutdown(part.one.get(), SHUT_WR);
    while (collector.receive(part.other) != Incoming::After::ended) {
    }
    ASSERT_EQ(collector.incoming.received(), got);
    outgoing.cut();
    EXPECT_FALSE(outgoing.go_on_behind(static_cast<std::uint64_t>(all) + 1)) << "it was never sent";
    ASSERT_TRUE(outgoing.go_on_behind(got));
    ASSERT_EQ(outgoing.flush(second.one), Status::ok);
    ASSERT_NO_FATAL_FAILURE(collector.receive_all(second.other, number));
    for (std::uint64_t i = 0; i < number; ++i)
      ASSERT_EQ(collector.packets[i], contract::pattern(i, kSizes[i])) << "cut at " << got;
  }
}

TEST_F(TcpOutgoing, without_a_keeper_waits_for_the_end_of_the_call) {
  Outgoing outgoing(pool, retained, transport::services(), kLink, kNever);
  ASSERT_EQ(send(outgoing, 1, 10, {.waits = true}), Status::ok);
  EXPECT_FALSE(outgoing.has_deadline());
  EXPECT_FALSE(outgoing.waits_for_room());
  EXPECT_EQ(here(), 0u);
  EXPECT_EQ(outgoing.flush(one), Status::ok);
  EXPECT_EQ(here_in_the_end(sizeof(RecordHead) + 10), sizeof(RecordHead) + 10);
}

/// Deadlines of a few microseconds at random: many pass while a record is added, and while the socket is
/// full.
TEST_F(TcpOutgoing, is_each_record_once_and_in_order_whenever_deadlines_pass) {
  const auto seed = static_cast<unsigned>(test::from_environment("STRIA_TEST_SEED", 20234));
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  Collector collector;
  // The seeds of the packets are their places in the stream, and a length says which of them it is.
  std::vector<std::size_t> lengths;
  std::size_t checked = 0;
  const auto receive = [&] {
    ASSERT_NE(collector.receive(other), Incoming::After::wrong);
    for (; !collector.packets.empty(); ++checked) {
      ASSERT_LT(checked, lengths.size());
      ASSERT_EQ(collector.packets.front(), contract::pattern(checked, lengths[checked]))
          << "packet " << checked;
      collector.packets.pop_front();
    }
  };
  Outgoing outgoing(pool, retained, transport::services(), kLink, std::chrono::nanoseconds(1500));
  for (std::int64_t left = test::rounds(40000); left > 0; --left) {
    const std::size_t bytes = random() % 64 == 0 ? random() % 6000 : random() % 300;
    const bool waits = random() % 32 != 0;
    const Status status = send(outgoing, lengths.size(), bytes, {waits, waits ? queue.get() : nullptr});
    ASSERT_TRUE(status == Status::ok || status == Status::no_resource);
    if (status == Status::ok) lengths.push_back(bytes);
    const Status flushed = random() % 50 == 0 ? outgoing.flush(one) : Status::ok;
    ASSERT_NE(flushed, Status::peer_failed);
    if (random() % 8192 == 0 || status == Status::no_resource) receive();
    if (HasFatalFailure()) return;
  }
  while (outgoing.flush(one) != Status::ok) receive();
  while (checked < lengths.size() && !HasFatalFailure()) receive();
}

/// Memory whose first use lasts until something has come to a socket, or a minute: meanwhile a deadline
/// passes.
struct SlowPage {
  explicit SlowPage(const UniqueFd& socket) {
    awaited = socket.get();
    at = static_cast<std::byte*>(
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const contract::Bytes content = contract::pattern(2, kUsed);
    std::copy(content.begin(), content.end(), at);
    ::mprotect(at, kBytes, PROT_NONE);
    struct sigaction action {};
    action.sa_handler = [](int) {
      pollfd one{awaited, POLLIN, 0};
      ::poll(&one, 1, 60000);
      ::mprotect(at, kBytes, PROT_READ | PROT_WRITE);
    };
    ::sigaction(SIGSEGV, &action, &before);
  }
  ~SlowPage() {
    ::sigaction(SIGSEGV, &before, nullptr);
    ::munmap(at, kBytes);
  }
  static constexpr std::size_t kBytes = 4096, kUsed = 60;
  static inline std::byte* at = nullptr;
  static inline int awaited = -1;
  struct sigaction before {};
};

TEST_F(TcpOutgoing, is_there_once_when_its_deadline_passed_while_it_was_added) {
  Outgoing outgoing(pool, retained, transport::services(), kLink, kSoon);
  const Outgoing::When waits{.waits = true, .keeper = queue.get()};
  Collector collector;
  const SlowPage page(other);
  ASSERT_EQ(send(outgoing, 1, 30, waits), Status::ok);
  ASSERT_TRUE(outgoing.has_deadline());
  ASSERT_EQ(
      outgoing.send(one, contract::header(1), contract::contiguous(SlowPage::at, SlowPage::kUsed), waits),
      Status::ok);
  EXPECT_FALSE(outgoing.has_deadline()) << "it has passed";
  ASSERT_EQ(send(outgoing, 3, 30, {}), Status::ok);
  ASSERT_NO_FATAL_FAILURE(collector.receive_all(other, 3));
  EXPECT_EQ(collector.packets[1], contract::pattern(2, SlowPage::kUsed));
  EXPECT_EQ(collector.packets[2], contract::pattern(3, 30));
}

/// More deadlines pass between two calls than the kernel's queue of completions has room for.
TEST_F(TcpOutgoing, knows_of_its_deadline_among_many_that_passed) {
  constexpr std::size_t kLinks = 400;
  std::deque<SocketPair> pairs(kLinks);
  std::deque<Outgoing> all;
  const Outgoing::When waits{.waits = true, .keeper = queue.get()};
  for (std::size_t i = 0; i < kLinks; ++i) {
    Outgoing& outgoing = all.emplace_back(pool, retained, transport::services(), kLink);
    const contract::Bytes payload = contract::pattern(i, 20);
    ASSERT_EQ(outgoing.send(pairs[i].one, contract::header(1),
                            contract::contiguous(const_cast<std::byte*>(payload.data()), 20), waits),
              Status::ok);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (std::size_t i = kLinks; i-- > 0;) {
    const contract::Bytes payload = contract::pattern(kLinks + i, 20);
    ASSERT_EQ(all[i].send(pairs[i].one, contract::header(1),
                          contract::contiguous(const_cast<std::byte*>(payload.data()), 20), waits),
              Status::ok);
    ASSERT_EQ(all[i].flush(pairs[i].one), Status::ok);
  }
  for (std::size_t i = 0; i < kLinks; ++i) {
    Collector collector;
    SCOPED_TRACE(testing::Message() << "link " << i);
    ASSERT_NO_FATAL_FAILURE(collector.receive_all(pairs[i].other, 2));
    EXPECT_EQ(collector.packets[1], contract::pattern(kLinks + i, 20));
  }
}

TEST_F(TcpOutgoing, of_another_thread_does_not_join_what_the_kernel_may_be_reading) {
  Outgoing outgoing(pool, retained, transport::services(), kLink, kNever);
  Collector collector;
  ASSERT_EQ(send(outgoing, 1, 30, {.waits = true, .keeper = queue.get()}), Status::ok);
  ASSERT_TRUE(outgoing.has_deadline());
  std::thread([&] { EXPECT_EQ(send(outgoing, 2, 30, {.waits = true}), Status::ok); }).join();
  EXPECT_FALSE(outgoing.has_deadline());
  EXPECT_EQ(outgoing.flush(one), Status::ok);
  ASSERT_NO_FATAL_FAILURE(collector.receive_all(other, 2));
  EXPECT_EQ(collector.packets[1], contract::pattern(2, 30));
}

TEST_F(TcpOutgoing, has_deadlines_of_the_main_thread_alone) {
  EXPECT_TRUE(queue->keeps_deadlines());
  std::thread([] {
    const auto own = KernelQueue::open();
    ASSERT_TRUE(own);
    EXPECT_FALSE((*own)->keeps_deadlines());
  }).join();
}

TEST_F(TcpOutgoing, with_a_front_is_whole_at_each_length) {
  Outgoing outgoing(pool, retained, transport::services(), kLink);
  const contract::Bytes front = contract::pattern(1, sizeof(KeyName));
  for (const std::size_t bytes : {0u, 100u, 1008u, 1009u, 4080u, 4081u, 60000u}) {
    const contract::Bytes payload = contract::pattern(2, bytes);
    ASSERT_EQ(outgoing.send(one, {RecordKind::ending, contract::header(1), front, payload}, {}), Status::ok);
    contract::Bytes came(sizeof(RecordHead) + front.size() + bytes);
    while (outgoing.waits_for_room()) static_cast<void>(outgoing.flush(one));
    ASSERT_EQ(::recv(other.get(), came.data(), came.size(), MSG_WAITALL), static_cast<ssize_t>(came.size()));
    const auto at = came.begin() + sizeof(RecordHead);
    EXPECT_TRUE(std::equal(front.begin(), front.end(), at));
    EXPECT_TRUE(std::equal(payload.begin(), payload.end(), at + static_cast<std::ptrdiff_t>(front.size())));
  }
}

// Short blocks are packed and sent a part at a time; from wherever the system has no more room, the rest
// waits.
TEST_F(TcpOutgoing, of_short_blocks_are_whole_at_each_length) {
  constexpr std::int64_t kBlock = 8, kStride = 24;
  Outgoing outgoing(pool, retained, transport::services(), kLink);
  outgoing.retain_nothing();
  Collector collector;
  std::vector<contract::Bytes> sent;
  const auto receive = [&] { ASSERT_EQ(collector.receive(other), Incoming::After::idle); };
  std::mt19937 random(20237);
  for (unsigned i = 0; i < 400; ++i) {
    const std::int64_t near = static_cast<std::int64_t>(random() % 6) * 12288 + 64 - kBlock * (random() % 20);
    const std::int64_t blocks = std::clamp<std::int64_t>(near / kBlock, 1, kEagerMost / kBlock);
    const datatype::Layout layout =
        *datatype::Layout::vector(blocks, 1, kStride, datatype::Layout::bytes(kBlock));
    contract::Bytes memory = contract::pattern(i, static_cast<std::size_t>(blocks * kStride));
    const transport::Payload payload{&layout, memory.data(), 1, 0, blocks * kBlock};
    Status status = Status::no_resource;
    while ((status = outgoing.send(one, contract::header(1), payload, {})) == Status::no_resource) {
      receive();
      static_cast<void>(outgoing.flush(one));
    }
    ASSERT_EQ(status, Status::ok);
    contract::Bytes& packed = sent.emplace_back(static_cast<std::size_t>(blocks * kBlock));
    transport::pack(payload, packed.data());
    std::fill(memory.begin(), memory.end(), std::byte{0});  // it is the caller's again
    if (random() % 4 == 0) receive();
  }
  while (outgoing.waits_for_room()) {
    receive();
    static_cast<void>(outgoing.flush(one));
  }
  // The system may keep the last record back for a while, to send it with others.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (collector.packets.size() < sent.size() && std::chrono::steady_clock::now() < deadline) receive();
  ASSERT_EQ(collector.packets.size(), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) ASSERT_EQ(collector.packets[i], sent[i]) << i;
}

struct TcpAgain : testing::Test, SocketPair {
  void say(RecordKind kind, std::span<const std::byte> payload) {
    const RecordHead head{static_cast<std::uint32_t>(payload.size()), kind,
                          kind == RecordKind::packet ? contract::header(1) : transport::Header{}};
    ASSERT_EQ(::send(one.get(), &head, sizeof head, 0), static_cast<ssize_t>(sizeof head));
    if (payload.empty()) return;
    ASSERT_EQ(::send(one.get(), payload.data(), payload.size(), 0), static_cast<ssize_t>(payload.size()));
  }
  void say_again(std::uint64_t index) { say(RecordKind::again, std::as_bytes(std::span(&index, 1))); }
  /// Receives until what was said has come, or for a minute: it has to end the connection.
  Incoming::After receive() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    Incoming::After after = Incoming::After::idle;
    while (after == Incoming::After::idle && std::chrono::steady_clock::now() < end)
      after = collector.receive(other);
    return after;
  }
  Collector collector;
  const contract::Bytes first = contract::pattern(1, 33), second = contract::pattern(2, 70);
};

TEST_F(TcpAgain, is_dropped_when_it_is_here_and_delivered_when_it_is_not) {
  say(RecordKind::packet, first);
  say(RecordKind::padding, contract::Bytes(kHeldMost - sizeof(RecordHead)));
  say_again(0);
  say(RecordKind::packet, first);
  say_again(1);
  say(RecordKind::padding, {});
  say(RecordKind::packet, second);
  say_again(1);
  say(RecordKind::packet, second);
  say(RecordKind::packet, first);
  ASSERT_NO_FATAL_FAILURE(collector.receive_all(other, 3));
  EXPECT_EQ(collector.packets[0], first);
  EXPECT_EQ(collector.packets[1], second);
  EXPECT_EQ(collector.packets[2], first);
}

TEST_F(TcpAgain, ends_the_connection_when_its_index_or_length_makes_no_sense) {
  say(RecordKind::packet, first);
  say_again(2);
  EXPECT_EQ(receive(), Incoming::After::wrong);
}
TEST_F(TcpAgain, of_a_record_that_came_long_ago_ends_the_connection) {
  say(RecordKind::packet, first);
  say(RecordKind::packet, second);
  say_again(0);
  EXPECT_EQ(receive(), Incoming::After::wrong);
}
TEST_F(TcpAgain, behind_another_ends_the_connection) {
  say(RecordKind::packet, first);
  say_again(0);
  say_again(0);
  EXPECT_EQ(receive(), Incoming::After::wrong);
}
TEST_F(TcpAgain, padding_that_is_too_long_ends_the_connection) {
  say(RecordKind::padding, contract::Bytes(kHeldMost + 1));
  EXPECT_EQ(receive(), Incoming::After::wrong);
}

}  // namespace
}  // namespace stria::tcp
