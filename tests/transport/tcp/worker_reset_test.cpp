// Two workers that sleep whenever there is nothing to do, and exchange eager messages of every length, in
// blocks of every length, while their connections are reset: each message is whole and in its order, and a
// worker wakes up when a message has come.
#include <array>
#include <atomic>
#include <deque>
#include <random>
#include <thread>

#include "tag/objects.hpp"
#include "tests/rounds.hpp"
#include "tests/tag/side.hpp"
#include "tests/tag/variable.hpp"
#include "tests/transport/tcp/reset_rig.hpp"

namespace stria::tcp {
namespace {

using test::Bytes;
using test::Side;
using TcpWorkerReset = WithResets;

struct Half {
  stria_context_t* context = nullptr;
  stria_worker_t* worker = nullptr;
  stria_endpoint_t* endpoint = nullptr;
  std::uint64_t late = 0, slept = 0;
};

/// Opens both workers, each with an endpoint to the other.
void open(std::array<Half, 2>& halves) {
  EXPECT_EQ(stria_config_set("STRIA_PROVIDERS", "tcp", "test"), STRIA_OK) << stria_last_error();
  const stria_provider_t* const builtins[] = {&tcp_provider()};
  for (Half& half : halves) {
    auto opened = tag::open_context(nullptr, builtins);
    ASSERT_TRUE(opened.has_value()) << opened.error().context;
    half.context = reinterpret_cast<stria_context_t*>(opened->release());
    ASSERT_EQ(stria_worker_open(half.context, nullptr, &half.worker), STRIA_OK) << stria_last_error();
  }
  for (unsigned rank : {0u, 1u}) {
    char address[STRIA_ADDRESS_MAX];
    std::size_t bytes = sizeof address;
    ASSERT_EQ(stria_worker_address(halves[1 - rank].worker, address, &bytes), STRIA_OK);
    stria_endpoint_params_t params{};
    params.size = sizeof params;
    params.address = address;
    params.address_bytes = bytes;
    ASSERT_EQ(stria_endpoint_open(halves[rank].worker, &params, &halves[rank].endpoint), STRIA_OK);
  }
}

void close(std::array<Half, 2>& halves) {
  for (Half& half : halves) stria_worker_close(half.worker);
  for (Half& half : halves) stria_context_close(half.context);
}

/// Has both workers make progress until the operation has ended.
stria_status_t outcome(std::array<Half, 2>& halves, stria_request_t& request) {
  for (int i = 0; i < 1000000 && stria_request_test(&request, nullptr) == STRIA_IN_PROGRESS; ++i)
    for (Half& half : halves) stria_worker_progress(half.worker);
  return stria_request_test(&request, nullptr);
}

std::size_t size_of(unsigned from, unsigned number) {
  const std::size_t some = number * 7919u + from * 104729u;
  return number % 4 == 0 ? some % 700 : some % 60000;
}
unsigned char byte_of(unsigned from, unsigned number, std::size_t i) {
  return static_cast<unsigned char>(i * 31 + (i >> 8) * 7 + number * 13 + from);
}

void make(Side& side, std::mt19937& random, std::size_t bytes) {
  constexpr std::size_t kBlocks[] = {0, 1, 3, 8, 12, 100, 600, 2048};
  const std::size_t block = kBlocks[random() % 8];
  const std::size_t whole = Side::kBlocks * block;
  side.make(block == 0 ? bytes : whole * ((bytes + whole - 1) / whole), block);
}

struct Sending {
  Side side;
  stria_request_t request;
};
struct Receiving {
  Side side;
  stria_request_t request;
  unsigned number;
};

void run(std::array<Half, 2>& halves, unsigned rank, unsigned count, unsigned seed,
         std::atomic<int>& running) {
  std::mt19937 random(seed * 2 + rank);
  Half& half = halves[rank];
  std::deque<Sending> sends;
  std::deque<Receiving> recvs;
  unsigned sent = 0, posted = 0, received = 0;
  const auto step = [&]() {
    bool moved = false;
    while (posted < count && recvs.size() < 3 && random() % 4 != 0) {
      Receiving& one = recvs.emplace_back();
      one.number = posted++;
      make(one.side, random, size_of(1 - rank, one.number));
      stria_recv_t recv{};
      recv.base = one.side.memory.data();
      recv.layout = one.side.layout;
      recv.count = one.side.count();
      recv.match = {random() % 2 == 0 ? half.endpoint : nullptr, 1, 0};
      const stria_status_t answer = stria_recv(half.worker, &recv, &one.request);
      ASSERT_GE(answer, 0) << stria_last_error();
      moved = true;
    }
    while (sent < count && sends.size() < 4 && random() % 3 != 0) {
      Sending& one = sends.emplace_back();
      const std::size_t bytes = size_of(rank, sent);
      // The message is padded to whole instances of its layout.
      make(one.side, random, bytes);
      for (std::size_t i = 0; i < one.side.bytes; ++i) one.side.at(i) = byte_of(rank, sent, i);
      stria_send_t send{};
      send.base = one.side.memory.data();
      send.layout = one.side.layout;
      send.count = one.side.count();
      send.tag = 1;
      send.immediate = sent++;
      const stria_status_t answer = stria_send(half.endpoint, &send, &one.request);
      ASSERT_GE(answer, 0) << stria_last_error();
      moved = true;
    }
    while (!sends.empty()) {
      const stria_status_t state = stria_request_test(&sends.front().request, nullptr);
      if (state == STRIA_IN_PROGRESS) break;
      ASSERT_EQ(state, STRIA_OK) << stria_last_error();
      sends.pop_front();
      moved = true;
    }
    while (!recvs.empty()) {
      Receiving& one = recvs.front();
      stria_info_t info{};
      const stria_status_t state = stria_request_test(&one.request, &info);
      if (state == STRIA_IN_PROGRESS) break;
      ASSERT_TRUE(state == STRIA_OK || state == STRIA_ERR_TRUNCATED) << stria_last_error();
      ASSERT_EQ(info.immediate, one.number);
      ASSERT_GE(info.length, size_of(1 - rank, one.number));
      ASSERT_EQ(info.received, std::min<std::uint64_t>(info.length, one.side.bytes));
      for (std::size_t i = 0; i < info.received; ++i)
        ASSERT_EQ(one.side.at(i), byte_of(1 - rank, one.number, i)) << one.number << " at " << i;
      recvs.pop_front();
      ++received;
      moved = true;
    }
    const bool may_start = (posted < count && recvs.size() < 3) || (sent < count && sends.size() < 4);
    if (moved || may_start) {
      if (random() % 2 == 0) stria_worker_progress(half.worker);
      return;
    }
    const stria_status_t woken = stria_worker_wait(half.worker, 4000);
    if (woken == STRIA_IN_PROGRESS) {
      const bool missed =
          (!recvs.empty() && stria_request_test(&recvs.front().request, nullptr) != STRIA_IN_PROGRESS) ||
          (!sends.empty() && stria_request_test(&sends.front().request, nullptr) != STRIA_IN_PROGRESS);
      ++(missed ? half.late : half.slept);
    }
  };
  while ((received < count || sent < count || !sends.empty()) && !testing::Test::HasFatalFailure() &&
         half.slept < 3)
    step();
  --running;
  while (running != 0) stria_worker_progress(half.worker);
  EXPECT_EQ(half.slept, 0u) << "rank " << rank << ": nothing came for seconds; received " << received
                            << ", sent " << sent;
}

TEST_F(TcpWorkerReset, messages_are_whole_and_sleepers_are_woken) {
  const auto seed = static_cast<unsigned>(test::from_environment("STRIA_TEST_SEED", 1));
  const bool has_resets = test::from_environment("STRIA_TEST_RESETS", 1) != 0;
  const auto count = static_cast<unsigned>(test::rounds(1500));
  SCOPED_TRACE(seed);
  const test::Variable liveness("STRIA_LIVENESS_MS", "2"), spin("STRIA_WAIT_SPIN_US", "20");
  std::array<Half, 2> halves;
  open(halves);
  std::atomic<int> running = 2;
  std::thread threads[2];
  for (unsigned rank : {0u, 1u})
    threads[rank] = std::thread([&, rank] { run(halves, rank, count, seed, running); });
  std::mt19937 random(seed);
  std::uint64_t resets = 0;
  while (running > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + random() % 40));
    if (!has_resets) continue;
    for (const int fd : connections_of_this_process())
      if (random() % 2 == 0) resets += reset_connection(fd) == 0;
  }
  for (std::thread& thread : threads) thread.join();
  for (Half& half : halves) {
    EXPECT_EQ(half.late, 0u) << "slept although an operation had ended";
  }
  RecordProperty("resets", std::to_string(resets));
  close(halves);
}

/// As behind a message that is copied: the receive of the next one may be posted when the caller has this
/// one, and then that needs no copy either.
TEST(TcpWorker, message_behind_one_that_is_placed_waits_for_its_receive) {
  constexpr std::size_t kFirst = 40000, kSecond = 8000;
  std::array<Half, 2> halves;
  open(halves);
  Bytes sent(kFirst), got(kFirst);
  const auto post = [&](std::size_t bytes, stria_request_t& request) {
    stria_recv_t recv{};
    recv.base = got.data();
    recv.count = bytes;
    recv.match = {halves[1].endpoint, 1, 0};
    return stria_recv(halves[1].worker, &recv, &request);
  };
  const auto start = [&](std::size_t bytes, stria_request_t& request) {
    stria_send_t send{};
    send.base = sent.data();
    send.count = bytes;
    send.tag = 1;
    return stria_send(halves[0].endpoint, &send, &request);
  };
  stria_request_t sends[3], recvs[3];
  post(1, recvs[0]);
  start(1, sends[0]);
  ASSERT_EQ(outcome(halves, recvs[0]), STRIA_OK);
  ASSERT_EQ(outcome(halves, sends[0]), STRIA_OK);
  ASSERT_EQ(post(kFirst, recvs[1]), STRIA_IN_PROGRESS);
  ASSERT_GE(start(kFirst, sends[1]), 0);
  ASSERT_GE(start(kSecond, sends[2]), 0);
  while (stria_request_test(&sends[2], nullptr) == STRIA_IN_PROGRESS) stria_worker_progress(halves[0].worker);
  ASSERT_EQ(stria_request_wait(halves[1].worker, &recvs[1], nullptr), STRIA_OK);
  stria_counters_t counters{};
  counters.size = sizeof counters;
  ASSERT_EQ(stria_worker_counters(halves[1].worker, &counters), STRIA_OK);
  EXPECT_EQ(counters.received_eager, 2u);
  EXPECT_EQ(counters.unexpected_messages, 0u);
  post(kSecond, recvs[2]);
  EXPECT_EQ(outcome(halves, recvs[2]), STRIA_OK);
  close(halves);
}

}  // namespace
}  // namespace stria::tcp
