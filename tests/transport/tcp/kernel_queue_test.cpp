// Bytes that the kernel sends and receives by itself: all of them without another call, and exactly as many
// as it tells when it is stopped half way.
#include "transport/tcp/kernel_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tests/transport/tcp/socket_pair.hpp"

namespace stria::tcp {
namespace {

constexpr std::size_t kMiB = 1 << 20;
constexpr Token kAny = 8;

struct Noted final : KernelQueue::Operation {
  Noted() : Operation(kAny) {}
  void step_has_ended(int outcome) noexcept override {
    results.push_back(outcome);
    if (outcome > 0) bytes += outcome;
  }
  std::vector<int> results;
  int bytes = 0;
  msghdr header{};
};

std::vector<unsigned char> pattern(std::size_t bytes) {
  std::vector<unsigned char> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<unsigned char>(i * 13 + i / 509);
  return out;
}

bool comes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition())
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}

struct TcpKernelQueue : testing::Test, SocketPair {
  void SetUp() override {
    auto made = KernelQueue::open();
    if (!made && made.error().status == Status::unsupported) GTEST_SKIP() << made.error().context;
    ASSERT_TRUE(made) << made.error().context;
    queue = *std::move(made);
  }
  bool send(std::span<const iovec> runs, Noted& operation) {
    const KernelQueue::Step step{runs, &operation.header};
    return queue->send(one, std::span(&step, 1), operation);
  }
  bool receive(const UniqueFd& socket, std::span<const iovec> runs, Noted& operation) {
    const KernelQueue::Step step{runs, &operation.header};
    return queue->receive(socket, std::span(&step, 1), operation);
  }
  /// Until it has called over(), by looks alone.
  void expect_end(Noted& operation) {
    ASSERT_TRUE(comes_true([&] { return queue->has_news() && queue->next() == &operation; }));
    EXPECT_EQ(operation.results.size(), 1u);
    EXPECT_FALSE(operation.is_under_way());
    EXPECT_EQ(queue->next(), nullptr);
  }
  std::unique_ptr<KernelQueue> queue;
};

TEST_F(TcpKernelQueue, sends_and_receives_while_its_thread_computes) {
  auto source = pattern(8 * kMiB);
  std::vector<unsigned char> sink(source.size());
  std::vector<iovec> out{{source.data(), 1000}, {source.data() + 1000, source.size() - 1000}};
  std::vector<iovec> in{{sink.data(), sink.size() - 77}, {sink.data() + sink.size() - 77, 77}};
  Noted sent, received;
  ASSERT_TRUE(receive(other, in, received));
  ASSERT_TRUE(send(out, sent));
  out.clear();
  in.clear();  // they were read
  EXPECT_TRUE(sent.is_under_way() || received.is_under_way() || queue->has_news());
  const volatile unsigned char& last = sink.back();
  ASSERT_NE(source.back(), 0);
  ASSERT_TRUE(comes_true([&] { return last == source.back(); })) << "without a call";
  ASSERT_TRUE(comes_true([&] {
    queue->next();
    return sent.results.size() + received.results.size() == 2;
  }));
  EXPECT_EQ(sent.bytes, static_cast<int>(source.size()));
  EXPECT_EQ(received.bytes, static_cast<int>(source.size()));
  EXPECT_TRUE(sink == source);
}

TEST_F(TcpKernelQueue, does_steps_one_behind_the_other_and_none_behind_one_that_was_cut) {
  constexpr std::size_t kSteps = 40, kBytes = 300000;
  for (const std::size_t cut : {kSteps * kBytes, kSteps * kBytes - 1, 7 * kBytes + 5, 7 * kBytes}) {
    auto source = pattern(kSteps * kBytes);
    std::vector<unsigned char> sink(source.size());
    std::vector<iovec> runs;
    std::vector<msghdr> headers(kSteps);
    std::vector<KernelQueue::Step> steps;
    runs.reserve(2 * kSteps);
    for (std::size_t i = 0; i < kSteps; ++i) {  // of one run, and of two
      unsigned char* const place = sink.data() + i * kBytes;
      const std::size_t of_first = i % 2 == 0 ? kBytes : 77;
      const iovec* const first = &runs.emplace_back(iovec{place, of_first});
      if (of_first < kBytes) runs.push_back({place + of_first, kBytes - of_first});
      steps.push_back({{first, of_first < kBytes ? 2u : 1u}, &headers[i]});
    }
    Noted received;
    ASSERT_TRUE(queue->receive(other, steps, received));
    const iovec out{source.data(), cut};
    Noted sent;
    ASSERT_TRUE(send(std::span(&out, 1), sent));
    ASSERT_TRUE(comes_true([&] {
      if (queue->has_news()) queue->next();
      return !sent.is_under_way() && received.bytes == static_cast<int>(cut / kBytes * kBytes);
    })) << cut
        << " bytes: sent " << sent.bytes << ", received " << received.bytes << " in "
        << received.results.size() << " steps";
    queue->cancel(received);
    EXPECT_EQ(received.results.size(), kSteps);
    std::vector<unsigned char> rest(kBytes);
    const std::size_t left = cut - static_cast<std::size_t>(received.bytes);
    if (left > 0) {
      EXPECT_EQ(::recv(other.get(), rest.data(), left, MSG_WAITALL), static_cast<ssize_t>(left));
    }
    EXPECT_TRUE(std::equal(source.begin(), source.begin() + received.bytes, sink.begin()));
    EXPECT_TRUE(std::equal(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(left),
                           source.begin() + received.bytes));
  }
}

TEST_F(TcpKernelQueue, tells_how_much_was_sent_before_it_was_stopped) {
  auto source = pattern(256 * kMiB);  // more than both sockets hold
  const iovec out{source.data(), source.size()};
  Noted sent;
  ASSERT_TRUE(send(std::span(&out, 1), sent));
  queue->cancel(sent);
  expect_end(sent);
  one.reset();
  std::vector<unsigned char> sink(source.size());
  std::size_t all = 0;
  for (ssize_t got = 1; got > 0; all += static_cast<std::size_t>(got))
    got = ::recv(other.get(), sink.data() + all, sink.size() - all, 0);
  EXPECT_EQ(all, static_cast<std::size_t>(sent.bytes));
  EXPECT_TRUE(std::equal(sink.begin(), sink.begin() + static_cast<std::ptrdiff_t>(all), source.begin()));
}

TEST_F(TcpKernelQueue, tells_how_much_was_received_before_it_was_stopped) {
  for (const std::size_t bytes : {0u, 1u, 100000u}) {
    const auto source = pattern(bytes);
    std::vector<unsigned char> sink(2 * kMiB), rest(kMiB);
    const iovec in{sink.data(), sink.size()};
    Noted received;
    ASSERT_TRUE(receive(other, std::span(&in, 1), received));
    ASSERT_EQ(::send(one.get(), source.data(), bytes, 0), static_cast<ssize_t>(bytes));
    queue->cancel(received);
    expect_end(received);
    const auto taken = static_cast<std::size_t>(received.bytes);
    ASSERT_LE(taken, bytes);
    const std::size_t left = bytes - taken;
    if (left > 0) {
      ASSERT_EQ(::recv(other.get(), rest.data(), left, MSG_WAITALL), static_cast<ssize_t>(left));
      EXPECT_TRUE(
          std::equal(source.begin() + static_cast<std::ptrdiff_t>(taken), source.end(), rest.begin()));
    }
    EXPECT_TRUE(
        std::equal(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(taken), sink.begin()));
    EXPECT_EQ(sink[taken], 0) << "no memory is touched that is not counted";
  }
}

// After 128 wakeups of one request Linux goes on with it in a thread of the kernel: this test and the next.
TEST_F(TcpKernelQueue, receives_bytes_that_come_one_by_one_and_tells_how_many_when_it_is_stopped) {
  constexpr std::size_t kCome = 400;
  const auto source = pattern(kCome);
  for (const std::size_t asked : {kCome, 2 * kCome}) {
    std::vector<unsigned char> sink(asked);
    const iovec in{sink.data(), sink.size()};
    Noted received;
    ASSERT_TRUE(receive(other, std::span(&in, 1), received));
    for (std::size_t i = 0; i < kCome; ++i) {
      const volatile unsigned char& place = sink[i];
      ASSERT_EQ(::send(one.get(), &source[i], 1, MSG_NOSIGNAL), 1);
      ASSERT_TRUE(comes_true([&] { return place == source[i]; })) << "byte " << i;
    }
    if (asked > kCome) queue->cancel(received);
    expect_end(received);
    EXPECT_EQ(received.bytes, static_cast<int>(kCome));
    EXPECT_TRUE(std::equal(source.begin(), source.end(), sink.begin()));
  }
}

TEST_F(TcpKernelQueue, sends_into_a_socket_that_is_full_many_times_over) {
  const int room = 65536;
  ASSERT_EQ(::setsockopt(one.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
  for (const bool stops : {false, true}) {
    auto source = pattern(32 * kMiB);
    const iovec out{source.data(), source.size()};
    Noted sent;
    ASSERT_TRUE(send(std::span(&out, 1), sent));
    std::vector<unsigned char> sink(source.size() + 1);
    std::size_t all = 0;
    const std::size_t wanted = stops ? source.size() / 2 : source.size();
    const auto read = [&] {
      const ssize_t got = ::recv(other.get(), sink.data() + all, sink.size() - all, MSG_DONTWAIT);
      if (got > 0) all += static_cast<std::size_t>(got);
      return got > 0;
    };
    ASSERT_TRUE(comes_true([&] { return !read() && all >= wanted; })) << all << " bytes came";
    if (stops) queue->cancel(sent);
    expect_end(sent);
    ASSERT_TRUE(comes_true([&] { return !read() && all >= static_cast<std::size_t>(sent.bytes); }));
    EXPECT_EQ(all, static_cast<std::size_t>(sent.bytes));
    EXPECT_TRUE(std::equal(sink.begin(), sink.begin() + static_cast<std::ptrdiff_t>(all), source.begin()));
  }
}

TEST_F(TcpKernelQueue, hears_of_the_end_of_the_peer) {
  auto source = pattern(256 * kMiB);
  std::vector<unsigned char> sink(kMiB);
  const iovec out{source.data(), source.size()}, in{sink.data(), sink.size()};
  Noted received;
  ASSERT_TRUE(receive(one, std::span(&in, 1), received));
  ASSERT_EQ(::send(other.get(), source.data(), 10, 0), 10);
  other.reset();
  expect_end(received);
  EXPECT_EQ(received.bytes, 10);
  Noted sent;
  ASSERT_TRUE(send(std::span(&out, 1), sent));
  expect_end(sent);
  EXPECT_LT(sent.bytes, static_cast<int>(source.size()));
}

TEST_F(TcpKernelQueue, tells_what_was_sent_for_a_thread_that_has_ended) {
  auto source = pattern(64 * kMiB);
  const iovec out{source.data(), source.size()};
  Noted sent;
  bool has_ring = false;
  std::thread([&] {
    auto made = KernelQueue::open();
    has_ring = static_cast<bool>(made);
    if (!has_ring) return;
    queue = *std::move(made);
    ASSERT_TRUE(send(std::span(&out, 1), sent));
  }).join();
  if (!has_ring) GTEST_SKIP() << "its user may have no second ring";
  std::size_t all = 0;
  std::vector<unsigned char> sink(source.size());
  ASSERT_TRUE(comes_true([&] {
    const ssize_t got = ::recv(other.get(), sink.data() + all, sink.size() - all, MSG_DONTWAIT);
    if (got > 0) all += static_cast<std::size_t>(got);
    return got <= 0 && queue->has_news() && queue->next() == &sent;
  }));
  one.reset();
  for (ssize_t got = 1; got > 0; all += static_cast<std::size_t>(got))
    got = ::recv(other.get(), sink.data() + all, sink.size() - all, 0);
  EXPECT_EQ(all, static_cast<std::size_t>(sent.bytes));
  EXPECT_TRUE(std::equal(sink.begin(), sink.begin() + static_cast<std::ptrdiff_t>(all), source.begin()));
}

TEST_F(TcpKernelQueue, begins_nothing_any_more_when_several_threads_have_called) {
  auto source = pattern(1000);
  const iovec out{source.data(), source.size()};
  Noted first, second, third;
  ASSERT_TRUE(send(std::span(&out, 1), first));
  expect_end(first);
  std::thread([&] { EXPECT_FALSE(send(std::span(&out, 1), second)); }).join();
  EXPECT_FALSE(send(std::span(&out, 1), third));
  EXPECT_FALSE(queue->has_news());
}

}  // namespace
}  // namespace stria::tcp
