// Messages out of memory of stria_mem_alloc(): they go by loads, between processes, contiguous or not, right
// to the byte, with and without cross-memory attach; and what is not such memory goes as before.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "stria/stria.hpp"

namespace st = stria::api;

namespace {

constexpr std::size_t kRows = 2800, kRowBytes = 1000;  // a column is longer than what goes at once
constexpr std::size_t kBytes = kRows * kRowBytes;

std::byte value(std::size_t seed, std::size_t at) {
  return static_cast<std::byte>((seed * 131 + at * 7 + (at >> 8)) & 0xff);
}

/// The message of a round: which memory, and whether it is a column of it.
struct Round {
  bool mapped;
  bool strided;
  std::size_t at;
  std::size_t rows = kRows;
  std::size_t row_bytes = kRowBytes;
};
using Rounds = std::vector<Round>;
const Rounds kAllKinds = {{true, false, 0}, {true, true, 16},  {false, false, 0},
                          {false, true, 8}, {true, true, 952}, {true, false, 5000}};

/// Bytes of a round's message, in typemap order.
std::vector<std::byte> expected(const Round& round, std::size_t number) {
  std::vector<std::byte> out;
  if (round.strided) {
    for (std::size_t row = 0; row < round.rows; ++row)
      for (std::size_t i = 0; i < 48; ++i) out.push_back(value(number, round.at + row * round.row_bytes + i));
  } else {
    for (std::size_t i = round.at; i < kBytes; ++i) out.push_back(value(number, i));
  }
  return out;
}

void send_all(int to, const void* data, std::size_t bytes) {
  ASSERT_EQ(::write(to, data, bytes), static_cast<ssize_t>(bytes));
}

/// The sending process: its address, then one message a round to the address it is given.
void sender(int in, int out, const Rounds& rounds) {
  st::Context context;
  st::Worker worker(context);
  const st::Buffer mapped = context.allocate(kBytes);
  std::vector<std::byte> ordinary(kBytes);
  std::uint32_t size = 0;
  ASSERT_EQ(::read(in, &size, sizeof size), static_cast<ssize_t>(sizeof size));
  std::vector<std::byte> address(size);
  ASSERT_EQ(::read(in, address.data(), size), static_cast<ssize_t>(size));
  st::Endpoint peer(worker, address);
  for (std::size_t number = 0; number < rounds.size(); ++number) {
    const Round& round = rounds[number];
    std::byte* memory = round.mapped ? mapped.bytes().data() : ordinary.data();
    for (std::size_t i = 0; i < kBytes; ++i) memory[i] = value(number, i);
    const st::Layout columns =
        st::Layout::vector(static_cast<std::int64_t>(round.rows), 6,
                           static_cast<std::int64_t>(round.row_bytes), st::Layout::bytes(8));
    st::Request request;
    if (round.strided) {
      ASSERT_GE(peer.send({memory + round.at, columns}, number, request), STRIA_OK);
    } else {
      ASSERT_GE(peer.send(std::span(memory + round.at, kBytes - round.at), number, request), STRIA_OK);
    }
    ASSERT_EQ(worker.wait(request), STRIA_OK);
    std::memset(memory, 0, kBytes);  // the memory is ours again: nobody reads it any more
  }
  send_all(out, "x", 1);
  char last = 0;
  ASSERT_EQ(::read(in, &last, 1), 1);
}

/// Receives all rounds: contiguous in one pass, into a layout in the other.
/// `before` each round.
void receive_from_another_process(
    const Rounds& rounds, bool scattered, st::Counters& counters,
    const std::function<void(std::size_t)>& before = [](std::size_t) {}) {
  int to[2], from[2];
  ASSERT_EQ(::pipe(to), 0);
  ASSERT_EQ(::pipe(from), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    sender(to[0], from[1], rounds);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  {
    st::Context context;
    st::Worker worker(context);
    const auto address = worker.address();
    const auto size = static_cast<std::uint32_t>(address.size());
    send_all(to[1], &size, sizeof size);
    send_all(to[1], address.data(), size);
    const st::Layout comb =
        st::Layout::vector(static_cast<std::int64_t>(kBytes / 8), 1, 16, st::Layout::bytes(8));
    for (std::size_t number = 0; number < rounds.size(); ++number) {
      const std::vector<std::byte> wanted = expected(rounds[number], number);
      before(number);
      std::vector<std::byte> got(2 * kBytes + 16, std::byte{0xee});
      st::Request request;
      if (scattered) {
        ASSERT_GE(worker.recv({got.data(), comb}, {.tag = number}, request), STRIA_OK);
      } else {
        ASSERT_GE(worker.recv(got, {.tag = number}, request), STRIA_OK);
      }
      st::Info info{};
      ASSERT_EQ(worker.wait(request, &info), STRIA_OK) << "round " << number;
      ASSERT_EQ(info.received, wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i)
        ASSERT_EQ(got[scattered ? i / 8 * 16 + i % 8 : i], wanted[i]) << "round " << number << " byte " << i;
      const std::size_t behind = scattered ? wanted.size() * 2 : wanted.size();
      ASSERT_EQ(got[behind], std::byte{0xee});
    }
    counters = worker.counters();
    char done = 0;
    ASSERT_EQ(::read(from[0], &done, 1), 1);
    send_all(to[1], "x", 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (const int fd : {to[0], to[1], from[0], from[1]}) ::close(fd);
}

class MappedMemory : public ::testing::TestWithParam<bool> {
 protected:
  void TearDown() override { ::unsetenv("STRIA_SHM_CMA"); }
};

TEST_P(MappedMemory, is_received_by_loads_and_everything_else_by_other_means) {
  st::Counters counters{};
  receive_from_another_process(kAllKinds, GetParam(), counters);
  EXPECT_EQ(counters.received_mapped, 4u);
  EXPECT_EQ(counters.received_get + counters.received_pipeline, 2u);
  EXPECT_EQ(counters.fallbacks, 0u);
}

TEST_P(MappedMemory, is_received_by_loads_also_without_cross_memory_attach) {
  ::setenv("STRIA_SHM_CMA", "off", 1);
  st::Counters counters{};
  receive_from_another_process(kAllKinds, GetParam(), counters);
  EXPECT_EQ(counters.received_mapped, 4u);
  EXPECT_EQ(counters.received_pipeline, 2u);
  EXPECT_EQ(counters.fallbacks, 1u) << "of the link";
}

TEST_P(MappedMemory, is_received_by_loads_however_short_where_packing_takes_long) {
  st::Counters counters{};
  receive_from_another_process(
      {{true, true, 16, 600, 160}, {true, true, 16, 600}, {false, true, 16, 600}, {true, true, 8, 2}},
      GetParam(), counters);
  EXPECT_EQ(counters.received_mapped, 1u);
  EXPECT_EQ(counters.received_get + counters.received_pipeline, 0u)
      << "unpacked while it is packed, the second also: each of its blocks is a line of its own";
}

INSTANTIATE_TEST_SUITE_P(Receives, MappedMemory, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "scattered" : "contiguous"; });

TEST(MappedMemoryFallback, a_receiver_that_cannot_map_it_has_it_packed) {
  ::setenv("STRIA_SHM_CMA", "off", 1);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  st::Counters counters{};
  const Rounds rounds = {{false, false, 0}, {true, false, 0}, {true, true, 0}};
  receive_from_another_process(rounds, false, counters, [&](std::size_t number) {
    // After the first message both are connected; then there are no more descriptors.
    if (number != 1) return;
    const int next = ::dup(0);
    ASSERT_EQ(::close(next), 0);
    const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  });
  ::setrlimit(RLIMIT_NOFILE, &before);
  ::unsetenv("STRIA_SHM_CMA");
  EXPECT_EQ(counters.fallbacks, 3u) << "of the link, and of two messages";
  EXPECT_EQ(counters.received_pipeline, 3u);
}

TEST(MappedMemoryRegion, is_put_and_got_through_a_key_without_cross_memory_attach) {
  ::setenv("STRIA_SHM_CMA", "off", 1);
  {
    st::Context context;
    st::Worker here(context), there(context);
    st::Endpoint peer(here, there.address());
    const st::Buffer memory = context.allocate(4096);
    st::Region region(there, memory.bytes(), STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE);
    st::Key key(peer, region.key());
    std::vector<std::byte> data(100, std::byte{7}), back(100);
    st::Request request;
    // OK at once: done by the provider. The engine of the target would need `there` to progress.
    EXPECT_EQ(peer.put(data, key, 50, request), STRIA_OK);
    EXPECT_EQ(peer.get(back, key, 50, request), STRIA_OK);
    EXPECT_EQ(back, data);
    EXPECT_EQ(memory.bytes()[149], std::byte{7});
    EXPECT_EQ(peer.get(back, key, 4000, request), STRIA_ERR_ACCESS);
    for (int i = 0; i < 100; ++i) here.progress(), there.progress();
  }
  ::unsetenv("STRIA_SHM_CMA");
}

TEST(MappedMemoryErrors, say_what_was_asked_for) {
  st::Context context;
  void* out = nullptr;
  EXPECT_EQ(stria_mem_alloc(context.get(), ~std::uint64_t{0}, &out), STRIA_ERR_IO);
  EXPECT_NE(std::string(stria_last_error()).find("18446744073709551615"), std::string::npos)
      << stria_last_error();
  EXPECT_EQ(stria_mem_free(context.get(), &out), STRIA_ERR_INVALID);
}

}  // namespace
