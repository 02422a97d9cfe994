// stria.hpp over the real library: two workers of one process. Included beside the library's own Status,
// Error and Result on purpose: the two vocabularies must not clash.
#include "base/result.hpp"
#include "datatype/layout.hpp"
#include "stria/stria.hpp"
// after it, so that a missing include of the header itself shows
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace st = stria::api;

namespace {

static_assert(!std::is_same_v<st::Error, stria::Error> &&
              !std::is_same_v<st::Layout, stria::datatype::Layout>);
static_assert(!std::is_copy_constructible_v<st::Request> && !std::is_move_constructible_v<st::Request>);
static_assert(std::is_copy_constructible_v<st::Layout> && !std::is_copy_constructible_v<st::Worker>);
static_assert(!std::is_constructible_v<st::Memory, const std::vector<int>&>,
              "a receive must not write to const memory");
static_assert(std::is_constructible_v<st::ConstMemory, const std::vector<int>&>);

struct Wrapper : ::testing::Test {
  st::Context context;
  st::Worker here{context};
  st::Worker there{context};
  st::Endpoint to_there{here, there.address()};

  /// Both sides take what is still under way; a close would wait for the other side, which this thread is
  /// too.
  void TearDown() override {
    for (int idle = 0; idle < 100;) idle = here.progress() + there.progress() == 0 ? idle + 1 : 0;
  }
  /// Progresses both sides until `request` of `worker` ended.
  st::Info finish(st::Request& request) {
    st::Info info{};
    for (int i = 0; i < 1000000 && request.test(&info) == STRIA_IN_PROGRESS; ++i) {
      here.progress();
      there.progress();
    }
    return info;
  }
};

TEST_F(Wrapper, sends_values_and_tells_tag_immediate_and_source) {
  const std::vector<int> sent = {1, 2, 3, 4};
  std::array<int, 4> got{};
  st::Request sending;
  st::Request receiving;
  ASSERT_GE(there.recv(got, {.tag = 0x1200, .ignore = 0xff}, receiving), STRIA_OK);
  ASSERT_GE(to_there.send(sent, 0x1234, sending, {.immediate = 99}), STRIA_OK);
  const st::Info info = finish(receiving);
  EXPECT_EQ(finish(sending).status, STRIA_OK);
  EXPECT_EQ(info.status, STRIA_OK);
  EXPECT_EQ(info.tag, 0x1234u);
  EXPECT_EQ(info.immediate, 99u);
  EXPECT_EQ(info.source, here.id());
  EXPECT_EQ(info.length, sizeof got);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), got.begin()));
}

TEST_F(Wrapper, a_truncated_receive_delivers_what_fits_and_says_so) {
  const std::vector<char> sent(100, 'x');
  std::vector<char> got(10, '-');
  st::Request sending;
  st::Request receiving;
  ASSERT_GE(there.recv(got, {.tag = 1}, receiving), STRIA_OK);
  ASSERT_GE(to_there.send(sent, 1, sending), STRIA_OK);
  const st::Info info = finish(receiving);
  EXPECT_EQ(info.status, STRIA_ERR_TRUNCATED);
  EXPECT_EQ(info.length, 100u);
  EXPECT_EQ(info.received, 10u);
  EXPECT_EQ(got, std::vector<char>(10, 'x'));
  finish(sending);
}

TEST_F(Wrapper, a_large_strided_message_lands_in_another_layout) {
  constexpr std::int64_t kN = 700;
  std::vector<double> matrix(kN * kN);
  std::iota(matrix.begin(), matrix.end(), 0.0);
  std::vector<double> rows(10 * kN, -1.0);
  const st::Layout columns =
      st::Layout::resized(st::Layout::vector(kN, 1, kN * 8, st::Layout::of<double>()), 0, sizeof(double));
  st::Request sending;
  st::Request receiving;
  ASSERT_GE(there.recv(rows, {.tag = 2}, receiving), STRIA_OK);
  ASSERT_GE(to_there.send({&matrix[5], columns, 10}, 2, sending, {.synchronous = true}), STRIA_OK);
  EXPECT_EQ(finish(receiving).status, STRIA_OK);
  EXPECT_EQ(finish(sending).status, STRIA_OK);
  for (std::int64_t column = 0; column < 10; ++column)
    for (std::int64_t row = 0; row < kN; ++row)
      ASSERT_EQ(rows[static_cast<std::size_t>(column * kN + row)],
                static_cast<double>(row * kN + column + 5));
}

TEST_F(Wrapper, a_probe_looks_and_a_matched_probe_takes) {
  const std::array<int, 2> sent = {7, 8};
  std::array<int, 2> got{};
  st::Request sending;
  st::Request receiving;
  EXPECT_FALSE(there.probe({.tag = 3}).has_value());
  ASSERT_GE(to_there.send(sent, 3, sending), STRIA_OK);
  for (int i = 0; i < 1000000 && !there.probe({.tag = 3}); ++i) {
    here.progress();
    there.progress();
  }
  ASSERT_TRUE(there.probe({.tag = 3}).has_value());
  auto message = there.mprobe({.tag = 3});
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->info().length, sizeof sent);
  EXPECT_FALSE(there.probe({.tag = 3}).has_value());
  ASSERT_GE(there.mrecv(*message, got, receiving), STRIA_OK);
  EXPECT_EQ(finish(receiving).status, STRIA_OK);
  EXPECT_EQ(got, sent);
  finish(sending);
}

TEST_F(Wrapper, a_receive_that_nobody_answers_can_be_cancelled) {
  std::array<int, 1> got{};
  st::Request receiving;
  ASSERT_EQ(there.recv(got, {.tag = 4}, receiving), STRIA_IN_PROGRESS);
  EXPECT_TRUE(receiving.active());
  EXPECT_EQ(there.cancel(receiving), STRIA_OK);
  EXPECT_EQ(receiving.test(), STRIA_ERR_CANCELLED);
  EXPECT_FALSE(receiving.active());
}

TEST_F(Wrapper, a_peer_reads_and_writes_a_region_through_its_key) {
  std::vector<int> memory(1000);
  std::iota(memory.begin(), memory.end(), 0);
  const st::Region region(there, memory, STRIA_ACCESS_REMOTE_READ | STRIA_ACCESS_REMOTE_WRITE);
  ASSERT_GE(to_there.connect(), STRIA_OK);
  const st::Key key(to_there, region.key());
  std::vector<int> copy(10);
  st::Request reading;
  ASSERT_GE(to_there.get(copy, key, 100 * sizeof(int), reading), STRIA_OK);
  EXPECT_EQ(finish(reading).status, STRIA_OK);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(copy[static_cast<std::size_t>(i)], 100 + i);
  const std::vector<int> fresh = {-1, -2, -3};
  st::Request writing;
  ASSERT_GE(to_there.put(fresh, key, 500 * sizeof(int), writing), STRIA_OK);
  EXPECT_EQ(finish(writing).status, STRIA_OK);
  EXPECT_EQ(memory[499], 499);
  EXPECT_EQ(memory[500], -1);
  EXPECT_EQ(memory[502], -3);
  EXPECT_EQ(memory[503], 503);
  st::Request beyond;
  const st::Status refused = to_there.get(copy, key, 999 * sizeof(int), beyond);
  EXPECT_EQ(refused < STRIA_OK ? refused : finish(beyond).status, STRIA_ERR_ACCESS);
}

TEST_F(Wrapper, a_peer_changes_words_of_a_region) {
  std::vector<std::uint64_t> words = {5, 6, 7};
  const st::Region region(there, words, STRIA_ACCESS_REMOTE_ATOMIC);
  const st::Key key(to_there, region.key());
  std::uint64_t before = 0;
  st::Request request;
  ASSERT_GE(to_there.fetch_add(key, 8, 10, before, request), STRIA_OK);
  EXPECT_EQ(finish(request).status, STRIA_OK);
  EXPECT_EQ(before, 6u);
  ASSERT_GE(to_there.compare_swap(key, 16, 7, 70, before, request), STRIA_OK);
  EXPECT_EQ(finish(request).status, STRIA_OK);
  EXPECT_EQ(before, 7u);
  ASSERT_GE(to_there.compare_swap(key, 16, 7, 71, before, request), STRIA_OK);
  EXPECT_EQ(finish(request).status, STRIA_OK);
  EXPECT_EQ(before, 70u) << "another value than the expected one";
  EXPECT_EQ(words, (std::vector<std::uint64_t>{5, 16, 70}));
  EXPECT_EQ(to_there.fetch_add(key, 24, 1, before, request), STRIA_ERR_ACCESS);
}

TEST_F(Wrapper, memory_of_the_context_carries_messages) {
  std::optional<st::Buffer> out_memory;
  std::optional<st::Buffer> in_memory;
  try {
    out_memory.emplace(context, 100000);
    in_memory.emplace(context, 100000);
  } catch (const st::Error& error) {
    ASSERT_EQ(error.status(), STRIA_ERR_UNSUPPORTED) << error.what();
    GTEST_SKIP() << error.what();
  }
  const st::Buffer& out = *out_memory;
  const st::Buffer& in = *in_memory;
  std::memset(out.bytes().data(), 0x5a, out.bytes().size());
  st::Request sending;
  st::Request receiving;
  ASSERT_GE(there.recv(in.bytes(), {.tag = 6}, receiving), STRIA_OK);
  ASSERT_GE(to_there.send(out.bytes(), 6, sending), STRIA_OK);
  EXPECT_EQ(finish(receiving).status, STRIA_OK);
  EXPECT_EQ(std::memcmp(in.bytes().data(), out.bytes().data(), in.bytes().size()), 0);
  finish(sending);
}

TEST(Layouts, pack_and_unpack_any_range_and_share_copies) {
  const st::Layout column = st::Layout::vector(4, 1, 2, st::Layout::of<char>());
  st::Layout copy = column;
  copy = st::Layout(copy);
  const char memory[] = "a.b.c.d.";
  std::array<std::byte, 2> middle{};
  ASSERT_EQ(copy.pack(memory, 1, 1, middle), STRIA_OK);
  EXPECT_EQ(static_cast<char>(middle[0]), 'b');
  EXPECT_EQ(static_cast<char>(middle[1]), 'c');
  char out[] = "________";
  ASSERT_EQ(copy.unpack(out, 1, 2, middle), STRIA_OK);
  EXPECT_STREQ(out, "____b_c_");
  EXPECT_EQ(copy.bounds().size, 4);
  EXPECT_EQ(copy.bounds().blocks, 4);
  EXPECT_EQ(copy.dump(), column.dump());
  EXPECT_NE(copy.dump().find("strided(4, 2"), std::string::npos) << copy.dump();
}

TEST(Errors, name_the_call_and_the_value) {
  try {
    st::Layout::bytes(-5);
    FAIL() << "a negative size was taken";
  } catch (const st::Error& error) {
    EXPECT_EQ(error.status(), STRIA_ERR_INVALID);
    EXPECT_NE(std::string(error.what()).find("stria_layout_bytes"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("-5"), std::string::npos) << error.what();
  }
  st::Context context;
  st::Worker worker(context);
  const std::array<std::byte, 8> nonsense{};
  EXPECT_THROW(st::Endpoint(worker, nonsense), st::Error);
}

}  // namespace
