// Messages between memories of stria_mem_alloc() in two processes: each side copies a part, by loads and
// stores, right to the byte; whoever leaves is not waited for.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stria/stria.hpp"

namespace st = stria::api;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMemory = 12u << 20, kGuard = 4096;

/// Of `bytes` bytes, in blocks of `block` at distance `stride`.
struct Shape {
  std::size_t block, stride;

  st::Layout layout(std::size_t bytes) const {
    return st::Layout::vector(static_cast<std::int64_t>(bytes / block), 1, static_cast<std::int64_t>(stride),
                              st::Layout::bytes(static_cast<std::int64_t>(block)));
  }
  std::size_t place(std::size_t i) const { return i / block * stride + i % block; }
  std::size_t span(std::size_t bytes) const { return (bytes / block - 1) * stride + block; }
};
struct Round {
  std::size_t bytes;
  Shape from, to;
};

std::byte value(std::size_t round, std::size_t at) {
  return static_cast<std::byte>((round * 131 + at * 7 + (at >> 8) * 3 + (at >> 16)) & 0xff);
}

/// Sizes around every threshold; shapes that are one run, dense, sparse, and of long blocks.
std::vector<Round> draw(unsigned seed, std::size_t rounds) {
  constexpr std::size_t kSizes[] = {4096,   8184,   8192,   8200,   16384,  65528,  65536,    65544,  131064,
                                    131072, 131080, 196608, 262152, 524288, 786440, 1u << 20, 3000000};
  constexpr Shape kShapes[] = {{8, 8}, {8, 16}, {8, 24}, {8, 512}, {1024, 1536}, {4096, 5000}};
  std::mt19937 random(seed);
  std::vector<Round> out;
  while (out.size() < rounds) {
    Round round{kSizes[random() % std::size(kSizes)], kShapes[random() % std::size(kShapes)],
                kShapes[random() % std::size(kShapes)]};
    round.bytes -= round.bytes % std::max(round.from.block, round.to.block);
    const bool fits = round.from.span(round.bytes) + 2 * kGuard < kMemory &&
                      round.to.span(round.bytes) + 2 * kGuard < kMemory;
    if (fits) out.push_back(round);
  }
  return out;
}

/// The other process and the way to it.
class Sender {
 public:
  explicit Sender(const std::function<void(st::Context&, st::Worker&, st::Endpoint&, int in)>& body) {
    if (::pipe(to_) != 0 || ::pipe(from_) != 0) ::abort();
    child_ = ::fork();
    if (child_ != 0) return;
    ::alarm(180);
    {
      st::Context context;
      st::Worker worker(context);
      std::uint32_t size = 0;
      read(to_[0], &size, sizeof size);
      std::vector<std::byte> address(size);
      read(to_[0], address.data(), size);
      st::Endpoint peer(worker, address);
      body(context, worker, peer, to_[0]);
    }
    ::_exit(0);
  }
  Sender(const Sender&) = delete;
  ~Sender() {
    for (const int fd : {to_[0], to_[1], from_[0], from_[1]}) ::close(fd);
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
  }
  void introduce(st::Worker& worker) const {
    const auto address = worker.address();
    const auto size = static_cast<std::uint32_t>(address.size());
    tell(&size, sizeof size);
    tell(address.data(), size);
  }
  void tell(const void* data, std::size_t bytes) const {
    ASSERT_EQ(::write(to_[1], data, bytes), static_cast<ssize_t>(bytes));
  }
  int end() {
    int status = 1;
    ::waitpid(std::exchange(child_, -1), &status, 0);
    return status;
  }
  bool kill() { return ::kill(child_, SIGKILL) == 0; }
  static void read(int from, void* data, std::size_t bytes) {
    if (::read(from, data, bytes) != static_cast<ssize_t>(bytes)) ::_exit(3);
  }

 private:
  int to_[2] = {-1, -1}, from_[2] = {-1, -1};
  pid_t child_ = -1;
};

void fill_sent(std::byte* memory, const Round& round, std::size_t number) {
  for (std::size_t i = 0; i < round.bytes; ++i) memory[round.from.place(i)] = value(number, i);
}

/// All bytes of the receiver's memory are what they should be, those between the blocks too.
void check(const std::byte* memory, const Round& round, std::size_t number) {
  std::vector<std::byte> wanted(round.to.span(round.bytes) + 2 * kGuard, std::byte{0xee});
  for (std::size_t i = 0; i < round.bytes; ++i) wanted[kGuard + round.to.place(i)] = value(number, i);
  if (std::memcmp(memory, wanted.data(), wanted.size()) == 0) return;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_EQ(memory[i], wanted[i]) << "round " << number << ", byte " << i << " of " << round.bytes
                                    << " in blocks of " << round.to.block;
}

void send_rounds(st::Context& context, st::Worker& worker, st::Endpoint& peer,
                 const std::vector<Round>& rounds) {
  const st::Buffer memory = context.allocate(kMemory);
  for (std::size_t number = 0; number < rounds.size(); ++number) {
    const Round& round = rounds[number];
    fill_sent(memory.bytes().data(), round, number);
    const st::Layout layout = round.from.layout(round.bytes);
    st::Request request;
    if (peer.send({memory.bytes().data(), layout}, number, request) < STRIA_OK ||
        worker.wait(request) != STRIA_OK)
      ::_exit(4);
    std::memset(memory.bytes().data(), 0, round.from.span(round.bytes));  // ours again
  }
}

class MappedBoth : public ::testing::TestWithParam<const char*> {
 protected:
  MappedBoth() { ::setenv("STRIA_SHM_CMA", GetParam(), 1); }
  ~MappedBoth() override { ::unsetenv("STRIA_SHM_CMA"); }
};

TEST_P(MappedBoth, messages_of_all_shapes_are_right_to_the_byte) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::vector<Round> rounds = draw(seed, 150);
  Sender sender([&](st::Context& context, st::Worker& worker, st::Endpoint& peer, int) {
    send_rounds(context, worker, peer, rounds);
  });
  st::Context context;
  st::Worker worker(context);
  sender.introduce(worker);
  const st::Buffer memory = context.allocate(kMemory);
  for (std::size_t number = 0; number < rounds.size(); ++number) {
    const Round& round = rounds[number];
    std::byte* const begin = memory.bytes().data();
    std::memset(begin, 0xee, round.to.span(round.bytes) + 2 * kGuard);
    const st::Layout layout = round.to.layout(round.bytes);
    st::Request request;
    ASSERT_GE(worker.recv({begin + kGuard, layout}, {.tag = number}, request), STRIA_OK);
    ASSERT_EQ(worker.wait(request), STRIA_OK) << number;
    ASSERT_NO_FATAL_FAILURE(check(begin, round, number));
  }
  const st::Counters counters = worker.counters();
  EXPECT_GT(counters.received_mapped_both, rounds.size() / 4);
  EXPECT_EQ(counters.received_get, 0u) << "no system call";
  EXPECT_EQ(sender.end(), 0);
}

TEST_P(MappedBoth, memory_that_the_sender_cannot_map_is_written_by_its_receiver_alone) {
  const std::vector<Round> rounds(8, Round{1u << 20, {8, 8}, {8, 8}});
  Sender sender([&](st::Context& context, st::Worker& worker, st::Endpoint& peer, int) {
    send_rounds(context, worker, peer, rounds);
  });
  st::Context context;
  st::Worker worker(context);
  sender.introduce(worker);
  std::vector<std::byte> memory(rounds[0].bytes + 2 * kGuard);
  for (std::size_t number = 0; number < rounds.size(); ++number) {
    std::fill(memory.begin(), memory.end(), std::byte{0xee});
    st::Request request;
    ASSERT_GE(worker.recv(std::span(memory).subspan(kGuard, rounds[0].bytes), {.tag = number}, request),
              STRIA_OK);
    ASSERT_EQ(worker.wait(request), STRIA_OK);
    ASSERT_NO_FATAL_FAILURE(check(memory.data(), rounds[number], number));
  }
  EXPECT_EQ(worker.counters().received_mapped, rounds.size());
  EXPECT_EQ(worker.counters().received_mapped_both, 0u);
  EXPECT_EQ(sender.end(), 0);
}

/// One contiguous message of a sender that does not stay.
constexpr Round kOne{8u << 20, {8, 8}, {8, 8}};

/// Sends it, but a word first; not OK: the process ends.
void send_word_and_message(st::Worker& worker, st::Endpoint& peer, const st::Buffer& memory,
                           st::Request& request) {
  fill_sent(memory.bytes().data(), kOne, 0);
  st::Request word;
  if (peer.send(memory.bytes().first(8), 1, word) < STRIA_OK || worker.wait(word) != STRIA_OK) ::_exit(4);
  if (peer.send(memory.bytes().first(kOne.bytes), 0, request) < STRIA_OK) ::_exit(4);
}

/// The side that receives it.
struct Receiver {
  st::Context context;
  st::Worker worker{context};
  st::Buffer memory = context.allocate(kMemory);
  st::Request request;

  /// Both are connected, and the message is announced.
  void expect_word(const Sender& sender) {
    sender.introduce(worker);
    std::memset(memory.bytes().data(), 0xee, kOne.bytes + 2 * kGuard);
    std::vector<std::byte> word(8);
    ASSERT_GE(worker.recv(word, {.tag = 1}, request), STRIA_OK);
    ASSERT_EQ(worker.wait(request), STRIA_OK);
    const auto end = Clock::now() + std::chrono::seconds(30);
    while (!worker.probe({.tag = 0}) && Clock::now() < end) worker.progress();
    ASSERT_TRUE(worker.probe({.tag = 0})) << "no announcement for 30 s";
  }
  void post() {
    ASSERT_GE(worker.recv(memory.bytes().subspan(kGuard, kOne.bytes), {.tag = 0}, request), STRIA_OK);
  }
  void check_all() const { check(memory.bytes().data(), kOne, 0); }
};

TEST_P(MappedBoth, a_sender_that_is_away_is_not_waited_for) {
  Sender sender([&](st::Context& context, st::Worker& worker, st::Endpoint& peer, int in) {
    const st::Buffer memory = context.allocate(kMemory);
    st::Request request;
    send_word_and_message(worker, peer, memory, request);
    char received = 0;
    Sender::read(in, &received, 1);  // not in the library meanwhile
    if (worker.wait(request) != STRIA_OK) ::_exit(5);
  });
  Receiver receiver;
  ASSERT_NO_FATAL_FAILURE(receiver.expect_word(sender));
  ASSERT_NO_FATAL_FAILURE(receiver.post());
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (receiver.request.active() && Clock::now() < end) receiver.worker.progress();
  ASSERT_FALSE(receiver.request.active());
  ASSERT_NO_FATAL_FAILURE(receiver.check_all());
  EXPECT_EQ(receiver.worker.counters().received_mapped_both, 1u);
  sender.tell("x", 1);
  std::atomic<int> status{-1};
  std::thread ending([&] { status = sender.end(); });
  while (status == -1) receiver.worker.progress();  // it ends by its alarm, if by nothing else
  ending.join();
  EXPECT_EQ(status, 0);
  ASSERT_NO_FATAL_FAILURE(receiver.check_all()) << "what it stores later is refused";
}

// Killed before its first store, between two of them, and behind the last one.
TEST_P(MappedBoth, a_sender_that_is_killed_ends_the_receive) {
  for (const int after_us : {0, 10, 20, 40, 60, 100, 200, 1000}) {
    SCOPED_TRACE(after_us);
    Sender sender([&](st::Context& context, st::Worker& worker, st::Endpoint& peer, int) {
      const st::Buffer memory = context.allocate(kMemory);
      st::Request request;
      send_word_and_message(worker, peer, memory, request);
      for (;;) worker.progress();
    });
    Receiver receiver;
    ASSERT_NO_FATAL_FAILURE(receiver.expect_word(sender));
    const auto begin = Clock::now();
    ASSERT_NO_FATAL_FAILURE(receiver.post());
    bool killed = false;
    while ((receiver.request.active() || !killed) && Clock::now() - begin < std::chrono::seconds(30)) {
      if (!killed && Clock::now() - begin >= std::chrono::microseconds(after_us)) killed = sender.kill();
      receiver.worker.progress();
    }
    ASSERT_FALSE(receiver.request.active()) << "no end for 30 s";
    const st::Status outcome = receiver.worker.wait(receiver.request);
    if (outcome == STRIA_OK) {
      ASSERT_NO_FATAL_FAILURE(receiver.check_all());
    } else {
      EXPECT_EQ(outcome, STRIA_ERR_PEER_FAILED);
    }
  }
}

TEST_P(MappedBoth, only_the_receiver_copies_where_nothing_is_to_be_shared) {
  ::setenv("STRIA_RNDV_SHARE", "off", 1);
  Sender sender([&](st::Context& context, st::Worker& worker, st::Endpoint& peer, int) {
    const st::Buffer memory = context.allocate(kMemory);
    st::Request request;
    send_word_and_message(worker, peer, memory, request);
    if (worker.wait(request) != STRIA_OK) ::_exit(5);
  });
  Receiver receiver;
  ::unsetenv("STRIA_RNDV_SHARE");
  ASSERT_NO_FATAL_FAILURE(receiver.expect_word(sender));
  ASSERT_NO_FATAL_FAILURE(receiver.post());
  ASSERT_EQ(receiver.worker.wait(receiver.request), STRIA_OK);
  ASSERT_NO_FATAL_FAILURE(receiver.check_all());
  EXPECT_EQ(receiver.worker.counters().received_mapped, 1u);
  EXPECT_EQ(receiver.worker.counters().received_mapped_both, 0u);
  EXPECT_EQ(sender.end(), 0);
}

INSTANTIATE_TEST_SUITE_P(CrossMemoryAttach, MappedBoth, ::testing::Values("auto", "off"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
